type Kind = 'integer' | 'flag' | 'text' | 'bytes' | 'uuid'

export interface CopyTable {
  readonly name: string
  readonly columns: Readonly<Record<string, Kind>>
  /** The columns that order its rows on both sides. */
  readonly key: readonly string[]
}

/** Computed from the deliveries: the copy makes it again when deliveries come in. */
export const DERIVED_TABLES: readonly string[] = ['delivery_block', 'block_customers']

/** Every other table of the store except the list of migrations; a table comes after those that it refers to. */
export const COPY_TABLES: readonly CopyTable[] = [
  {
    name: 'customer',
    columns: {
      number: 'integer',
      id: 'text',
      email: 'text',
      password_hash: 'text',
      is_api: 'flag',
      operator: 'flag',
      read_only: 'flag',
      enabled: 'flag',
      token_generation: 'text',
      created_at: 'integer',
      erased_at: 'integer',
    },
    key: ['number'],
  },
  { name: 'customer_region', columns: { customer: 'integer', region: 'text' }, key: ['customer', 'region'] },
  { name: 'authority_rule', columns: { customer: 'integer', rule: 'text' }, key: ['customer', 'rule'] },
  {
    name: 'signing_key',
    columns: { kid: 'text', algorithm: 'text', private_jwk: 'text', created_at: 'integer', expires_at: 'integer' },
    key: ['kid'],
  },
  {
    name: 'api_key',
    columns: {
      id: 'text',
      customer: 'integer',
      hash: 'bytes',
      label: 'text',
      created_at: 'integer',
      expires_at: 'integer',
      revoked_at: 'integer',
      successor: 'text',
      networks: 'text',
      rate_limit: 'integer',
    },
    key: ['id'],
  },
  { name: 'api_key_use', columns: { key_id: 'text', used_at: 'integer', address: 'text' }, key: ['key_id'] },
  { name: 'account_version', columns: { number: 'integer' }, key: ['number'] },
  {
    name: 'purge',
    columns: {
      generation: 'integer',
      position: 'integer',
      announced: 'integer',
      done_before: 'integer',
      leased_until: 'integer',
      erasures: 'integer',
    },
    key: ['generation'],
  },
  { name: 'unordered_time', columns: { high: 'integer', low: 'integer' }, key: ['high'] },
  { name: 'service_secret', columns: { name: 'text', value: 'bytes' }, key: ['name'] },
  {
    name: 'login_failure',
    columns: { name: 'bytes', count: 'integer', last_at: 'integer', expires_at: 'integer' },
    key: ['name'],
  },
  {
    name: 'audit_event',
    columns: {
      number: 'integer',
      at: 'integer',
      actor: 'text',
      action: 'text',
      customer_id: 'text',
      address: 'text',
      request_id: 'text',
      details: 'text',
      refusal: 'text',
      order_id: 'text',
      key_id: 'text',
    },
    key: ['number'],
  },
  {
    name: 'refused_delivery',
    columns: {
      number: 'integer',
      refusal: 'text',
      at: 'integer',
      customer_id: 'text',
      key_id: 'text',
      order_id: 'text',
      error_code: 'text',
      message: 'text',
      request_id: 'text',
      address: 'text',
      payload: 'bytes',
    },
    key: ['number'],
  },
  { name: 'refused_tally', columns: { bytes: 'integer', removed: 'integer', not_kept: 'integer' }, key: ['bytes'] },
  {
    name: 'delivery_hour',
    columns: { customer: 'integer', hour: 'integer', status: 'integer', duplicate: 'flag', count: 'integer' },
    key: ['customer', 'hour', 'status', 'duplicate'],
  },
  { name: 'roll_up', columns: { position: 'integer' }, key: ['position'] },
  {
    name: 'refusal_hour',
    columns: { customer: 'integer', hour: 'integer', action: 'text', code: 'text', count: 'integer' },
    key: ['customer', 'hour', 'action', 'code'],
  },
  {
    name: 'webhook',
    columns: {
      id: 'text',
      url: 'text',
      customer_id: 'text',
      statuses: 'text',
      duplicates: 'flag',
      ca: 'text',
      give_up: 'integer',
      created_at: 'integer',
      secret: 'text',
      former_secret: 'text',
      former_until: 'integer',
      paused_reason: 'text',
      paused_at: 'integer',
      version: 'integer',
    },
    key: ['id'],
  },
  {
    // Without the lease: nobody holds an endpoint of the copy.
    name: 'webhook_progress',
    columns: {
      webhook: 'text',
      epoch: 'integer',
      position: 'integer',
      generation: 'integer',
      confirmed: 'text',
      last_success_at: 'integer',
      failing_since: 'integer',
      next_try_at: 'integer',
    },
    key: ['webhook'],
  },
  {
    name: 'webhook_waiting',
    columns: {
      webhook: 'text',
      position: 'integer',
      failures: 'integer',
      first_failed_at: 'integer',
      next_at: 'integer',
      set_aside_at: 'integer',
      last_error: 'text',
    },
    key: ['webhook', 'position'],
  },
  {
    name: 'webhook_attempt',
    columns: {
      number: 'integer',
      webhook: 'text',
      at: 'integer',
      position: 'integer',
      receipt: 'text',
      customer: 'integer',
      status: 'integer',
      error: 'text',
      milliseconds: 'integer',
      response: 'text',
      next_at: 'integer',
    },
    key: ['number'],
  },
  {
    name: 'webhook_minute',
    columns: { webhook: 'text', minute: 'integer', succeeded: 'integer', failed: 'integer', longest: 'integer' },
    key: ['webhook', 'minute'],
  },
  {
    name: 'order_state',
    columns: {
      customer: 'integer',
      order_id: 'text',
      status: 'integer',
      state_position: 'integer',
      latest_position: 'integer',
      digest: 'bytes',
    },
    key: ['customer', 'order_id'],
  },
  {
    name: 'idempotency',
    columns: { customer: 'integer', key: 'text', position: 'integer', kept_at: 'integer' },
    key: ['customer', 'key'],
  },
  {
    name: 'delivery',
    columns: {
      position: 'integer',
      receipt: 'uuid',
      customer: 'integer',
      order_id: 'text',
      status: 'integer',
      received_at: 'integer',
      echo_of: 'integer',
      previous: 'integer',
      payload: 'bytes',
      origin: 'bytes',
    },
    key: ['position'],
  },
]

/** Every table except the deliveries, which are only ever added. */
export const SMALL_TABLES = COPY_TABLES.filter(({ name }) => name !== 'delivery')

/** PostgreSQL's type for an array of a kind. */
export const arrayType: Record<Kind, string> = {
  integer: 'bigint[]',
  flag: 'boolean[]',
  text: 'text[]',
  bytes: 'bytea[]',
  uuid: 'uuid[]',
}

/** A value of either database as text, to be copied and compared. */
export function canonical(value: unknown, kind: Kind): string | null {
  if (value === null) return null
  if (kind === 'flag') return value === 1 || value === true ? 't' : 'f'
  if (kind === 'bytes') return Buffer.from(value as Uint8Array).toString('hex')
  if (kind === 'uuid' && value instanceof Uint8Array) {
    const hex = Buffer.from(value).toString('hex')
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  }
  return String(value)
}
