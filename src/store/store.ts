/**
 * What teslim asks of a database, in no database's words. Two adapters implement it in this order, and one conformance
 * suite (test/store/store-conformance.ts) holds both to it.
 */
export interface Store {
  readonly customers: CustomerStore
  readonly apiKeys: ApiKeyStore
  readonly deliveries: DeliveryStore
  readonly signingKeys: SigningKeyStore
  readonly secrets: SecretStore
  readonly audit: AuditStore
  /** Another number than before whenever a customer or an API key may have changed, by whatever process. */
  accountVersion(): Promise<number>
  /** Resolves when the store can answer; rejects with STORE_UNAVAILABLE when it cannot. */
  ping(): Promise<void>
  /** Finishes what was submitted, then closes. */
  close(): Promise<void>
}

export interface Customer {
  readonly id: string
  /** Canonical: trimmed, ASCII letters in lower case. Unique. */
  readonly email: string
  /** PHC string. */
  readonly passwordHash: string
  readonly isApi: boolean
  readonly operator: boolean
  readonly enabled: boolean
  /** Two capital letters each, sorted. */
  readonly regions: readonly string[]
  /** Exact product codes, prefixes (`ABC-*`) or `*`, sorted. */
  readonly authority: readonly string[]
  /** Seconds since 1970. A token issued before is refused. */
  readonly tokensValidFrom: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

export interface CustomerStore {
  insert(customer: Customer): Promise<'inserted' | 'email-taken'>
  findById(id: string): Promise<Customer | undefined>
  findByEmail(email: string): Promise<Customer | undefined>
  /** By id, beginning after `afterId`. */
  list(page: { readonly afterId?: string; readonly limit: number }): Promise<Customer[]>
  /** The methods below resolve to false when there is no such customer. `tokensValidFrom` never moves back. */
  setPassword(id: string, passwordHash: string, tokensValidFrom: number): Promise<boolean>
  /** Changes nothing, and resolves to false, when the hash is no longer `from`. */
  replacePasswordHash(id: string, from: string, to: string): Promise<boolean>
  enable(id: string): Promise<boolean>
  disable(id: string, tokensValidFrom: number): Promise<boolean>
  addAuthority(id: string, rules: readonly string[]): Promise<boolean>
  removeAuthority(id: string, rules: readonly string[]): Promise<boolean>
}

export interface ApiKey {
  readonly id: string
  readonly customerId: string
  /** SHA-256 of the key; the key itself is nowhere. */
  readonly hash: Uint8Array
  readonly label: string
  /** These are milliseconds since 1970. */
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  /** The key that took its place when it was rotated. */
  readonly successorId: string | null
}

export interface ApiKeyUse {
  readonly keyId: string
  readonly usedAt: number
  readonly address: string
}

export interface ApiKeyStore {
  insert(key: ApiKey): Promise<void>
  findByHash(hash: Uint8Array): Promise<{ readonly key: ApiKey; readonly customer: Customer } | undefined>
  /** The oldest first, with their last use if there was one. */
  list(customerId?: string): Promise<(ApiKey & { readonly lastUse: ApiKeyUse | null })[]>
  /** Resolves to false when there is no such key. The first revocation stands. */
  revoke(id: string, revokedAt: number): Promise<boolean>
  /**
   * Inserts `successor`, of the same customer, and lets the key end at `endsAt` if not earlier: both or neither. Resolves
   * to false, having done nothing, when there is no such key, when it opens nothing at `now`, or has a successor already.
   */
  rotate(id: string, successor: ApiKey, times: { readonly now: number; readonly endsAt: number }): Promise<boolean>
  recordUses(uses: readonly ApiKeyUse[]): Promise<void>
}

export interface NewDelivery {
  /** A version 7 UUID. */
  readonly receiptId: string
  readonly customerId: string
  /** As it was sent, if one was found. */
  readonly orderId: string | null
  readonly status: number
  /** Milliseconds since 1970. */
  readonly receivedAt: number
  readonly payload: Uint8Array
  readonly idempotency: {
    readonly key: string
    /** Keys kept before, in milliseconds since 1970, count as never seen. */
    readonly notBefore: number
  } | null
}

/** Of the delivery itself or, when it is a duplicate, of the first one like it. */
export interface Receipt {
  readonly receiptId: string
  readonly orderId: string | null
  readonly status: number
  readonly receivedAt: number
  readonly duplicate: boolean
}

/** One delivery in the history. A duplicate is kept too, under a receipt of its own. */
export interface Delivery extends Receipt {
  /** Rises in the order of commits. */
  readonly position: number
  readonly customerId: string
  readonly payload: Uint8Array
}

/** The same without its payload, whose size it tells. */
export interface DeliverySummary extends Omit<Delivery, 'payload'> {
  readonly payloadBytes: number
}

/** What the last delivery that was no duplicate says of an order. */
export interface OrderState {
  readonly orderId: string
  readonly status: number
  readonly receiptId: string
  readonly receivedAt: number
}

/** What was committed after a position. */
export interface NewArrivals {
  /** Of the last one. */
  readonly position: number
  /** Whose they are, each once. */
  readonly customerIds: readonly string[]
  /** Whether there are others after it. */
  readonly more: boolean
}

/** The same with that delivery's place. */
export interface Order extends OrderState {
  readonly customerId: string
  readonly position: number
  readonly payloadBytes: number
}

/** Where an order stands in the order of all: by customer, in the order in which they were added, then by order id. */
export interface OrderPlace {
  readonly customerId: string
  readonly orderId: string
}

export interface Filter {
  readonly customerId?: string | undefined
  readonly orderId?: string | undefined
  readonly status?: number | undefined
  /** Received at this time or later, in milliseconds since 1970. */
  readonly from?: number | undefined
  /** Received before. */
  readonly to?: number | undefined
}

/** No answer has more than `most`, and none is looked for among more than `look`, so that its cost is bounded. */
export interface Bounds {
  readonly most: number
  readonly look: number
}

export interface DeliveryStore {
  /**
   * Resolves once the delivery is durable. Bytes equal to those of the order's last delivery are kept as a duplicate and
   * leave its state alone. Rejects with IDEMPOTENCY_KEY_REUSED when the key came with other bytes before or with
   * STORE_OVERLOADED, having done nothing, or with STORE_UNAVAILABLE.
   */
  deliver(delivery: NewDelivery): Promise<Receipt>
  findByReceipt(receiptId: string): Promise<Delivery | undefined>
  orderState(customerId: string, orderId: string): Promise<OrderState | undefined>
  /** Deliveries of an order, the newest first: all of them, or `most` beginning with the one at `from`. */
  history(customerId: string, orderId: string, page?: HistoryPage): Promise<DeliverySummary[]>
  /** Orders after a place. `next` is where to look on from; null when there is nothing after it. */
  orders(
    after: OrderPlace | null,
    filter: Filter,
    bounds: Bounds,
  ): Promise<{ orders: Order[]; next: OrderPlace | null }>
  /** Deliveries after a position, in the order of commits; every one up to `position` has been looked at. */
  after(position: number, filter: Filter, bounds: Bounds): Promise<{ deliveries: DeliverySummary[]; position: number }>
  /** Of the last delivery whose receipt was made before a time, in milliseconds since 1970; 0 if there is none. */
  positionAt(time: number): Promise<number>
  /** By position. Those that are no longer there are left out. */
  payloads(positions: readonly number[]): Promise<Map<number, Uint8Array>>
  /**
   * Calls back soon after deliveries were committed, by whatever process, and perhaps when there were none. The
   * function that it returns ends it.
   */
  watch(onCommit: () => void): () => void
  arrivals(afterPosition: number): Promise<NewArrivals>
}

export interface HistoryPage {
  readonly from?: number | undefined
  readonly most: number
}

export interface SigningKey {
  /** RFC 7638 thumbprint. */
  readonly kid: string
  readonly algorithm: string
  /** The private JWK as JSON text. */
  readonly privateJwk: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

export interface SigningKeyStore {
  /** Keeps `candidate` unless a key for its algorithm is there already; resolves to the newest one there is. */
  insertFirst(candidate: SigningKey): Promise<SigningKey>
  /** Newest first. */
  list(): Promise<SigningKey[]>
}

/** What all processes on one store know and nobody else. */
export interface SecretStore {
  /** Keeps `candidate` unless there is one of that name already; resolves to the one there is. */
  findOrInsert(name: string, candidate: Uint8Array): Promise<Uint8Array>
}

export interface AuditEvent {
  /** Milliseconds since 1970. */
  readonly at: number
  /** `cli:` and the name of who typed, or `api`. */
  readonly actor: string
  /** `customer.add`, `login.refused`. */
  readonly action: string
  readonly customerId: string | null
  readonly address: string | null
  readonly requestId: string | null
  /** More about it; never a secret. */
  readonly details: Readonly<Record<string, unknown>>
}

export interface AuditFilter {
  readonly customerId?: string | undefined
  /** How the action begins. */
  readonly action?: string | undefined
  /** From then on, and until before then, in milliseconds since 1970. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  readonly limit: number
}

export interface AuditStore {
  /** All of them or none. */
  append(events: readonly AuditEvent[]): Promise<void>
  /** The newest that the filter lets through, the newest last. */
  list(filter: AuditFilter): Promise<AuditEvent[]>
  /** Deletes the oldest that came before then, so many at most; resolves to their number. */
  deleteBefore(before: number, limit: number): Promise<number>
}
