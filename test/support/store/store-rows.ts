import type {
  ApiKey,
  AuditEvent,
  ConsoleSession,
  ConsoleSessionStore,
  Customer,
  NewDelivery,
  NewWebhook,
  SigningKey,
} from '#src/store/store.ts'

let counter = 0

/** A number that no other row of this process has. */
export const nextNumber = (): number => ++counter

export const customer = (more: Partial<Customer> = {}): Customer => {
  const id = `c-${String(nextNumber()).padStart(6, '0')}`
  return {
    id,
    email: `${id}@example.com`,
    name: `Name of ${id}`,
    note: 'calls back\nafter ten',
    disabledReason: '',
    silence: null,
    passwordHash: `hash of ${id}`,
    isApi: true,
    scope: 'customer',
    payloads: false,
    enabled: true,
    regions: ['DE', 'TR'],
    authority: ['A-*', 'b'],
    tokenGeneration: `generation of ${id}`,
    createdAt: 1_763_726_400_123,
    ...more,
  }
}

export const consoleSession = (customerId: string, more: Partial<ConsoleSession> = {}): ConsoleSession => {
  const number = nextNumber()
  const digest = Buffer.alloc(32, 7)
  digest.writeUInt32BE(number)
  return {
    id: `s-${number}`,
    digest,
    customerId,
    region: 'TR',
    authAt: 1_763_726_400_123,
    idleUntil: 2_000_000_000_000,
    endsAt: 2_000_000_000_000,
    address: '203.0.113.7',
    agent: 'Browser ü',
    ...more,
  }
}

/** Whether a session has not been ended, nor deleted. */
export const isSessionThere = async (store: ConsoleSessionStore, id: string): Promise<boolean> =>
  (await store.expiry(id)) !== undefined

export const key = (more: Partial<SigningKey> = {}): SigningKey => ({
  kid: `k-${nextNumber()}`,
  algorithm: `alg-${nextNumber()}`,
  privateJwk: '{"d":"x"}',
  createdAt: 1_763_726_400_123,
  expiresAt: null,
  ...more,
})

export const apiKey = (customerId: string, more: Partial<ApiKey> = {}): ApiKey => {
  const number = nextNumber()
  const hash = Buffer.alloc(32, number)
  hash.writeUInt32BE(number)
  return {
    id: `a-${String(number).padStart(6, '0')}`,
    customerId,
    hash,
    label: 'ERP ü',
    createdAt: 5,
    expiresAt: null,
    revokedAt: null,
    successorId: null,
    networks: null,
    rateLimit: null,
    ...more,
  }
}

export const delivery = (customerId: string, more: Partial<NewDelivery> = {}): NewDelivery => {
  const number = nextNumber()
  return {
    receiptId: `01a1fd40-d173-7140-8bbb-${number.toString(16).padStart(12, '0')}`,
    customerId,
    orderId: `order-${number}`,
    status: 1,
    receivedAt: 1_763_726_400_123,
    payload: Buffer.from(`{"Status":1,"number":${number}}`),
    idempotency: null,
    origin: null,
    ...more,
  }
}

export const auditEvent = (more: Partial<AuditEvent> = {}): AuditEvent => ({
  at: 1_763_726_400_123,
  actor: 'cli:ü',
  action: 'key.issue',
  customerId: `who-${nextNumber()}`,
  address: null,
  requestId: null,
  refusalId: null,
  orderId: null,
  keyId: null,
  details: {},
  ...more,
})

export const webhook = (more: Partial<NewWebhook> = {}): NewWebhook => {
  const number = nextNumber()
  return {
    id: `01a1fd40-d173-7140-9bbb-${number.toString(16).padStart(12, '0')}`,
    url: 'https://shop.example/hooks?tenant=ü',
    customerId: null,
    statuses: null,
    duplicates: true,
    ca: null,
    giveUpMilliseconds: null,
    createdAt: 1_763_726_400_123 + number,
    secret: 'sealed',
    position: 0,
    ...more,
  }
}
