import type {
  ApiKey,
  Delivery,
  DeliverySummary,
  KeySummary,
  ListedApiKey,
  Order,
  OrderState,
  Receipt,
  SigningKey,
} from '../store.ts'
import { originFrom } from './origins.ts'
import { uuidFrom } from './uuid.ts'

/** A row of either database. The functions below read what both give under the same names and as the same types. */
type Row = Readonly<Record<string, unknown>>

export const apiKeyFromRow = (row: Row): ApiKey => ({
  id: row.key_id as string,
  customerId: row.customer_id as string,
  hash: row.hash as Uint8Array,
  label: row.label as string,
  createdAt: row.key_created_at as number,
  expiresAt: row.expires_at as number | null,
  revokedAt: row.revoked_at as number | null,
  successorId: row.successor as string | null,
  networks: networksOfColumn(row.networks as string | null),
  rateLimit: row.rate_limit as number | null,
})

const networksOfColumn = (text: string | null): string[] | null => text?.split(',') ?? null

/** The networks of a key as they stand in its row. */
export const networksColumn = <None extends null | undefined>(networks: readonly string[] | None): string | None =>
  networks ? networks.join() : (networks as None)

export function listedKeyFromRow(row: Row): ListedApiKey {
  const key = apiKeyFromRow(row)
  const used = typeof row.used_at === 'number'
  return {
    ...key,
    lastUse: used ? { keyId: key.id, usedAt: row.used_at as number, address: row.address as string } : null,
  }
}

export const keySummaryFromRow = (row: Row): KeySummary => ({
  customerId: row.customer_id as string,
  live: row.live as number,
  expiring: row.expiring as number,
  expired: row.expired as number,
  lastUsedAt: row.last_used_at as number | null,
})

export const signingKeyFromRow = (row: Row): SigningKey => ({
  kid: row.kid as string,
  algorithm: row.algorithm as string,
  privateJwk: row.private_jwk as string,
  createdAt: row.created_at as number,
  expiresAt: row.expires_at as number | null,
})

export const receiptFromRow = (row: Row): Receipt => ({
  receiptId: uuidFrom(row.receipt as string),
  orderId: row.order_id as string | null,
  status: row.status as number,
  receivedAt: row.received_at as number,
  duplicate: typeof row.echo_of === 'number',
})

/** An erased delivery keeps something of the length of its order id. */
const erasureFromRow = (row: Row) =>
  row.erased ? { erased: true, orderId: null } : { erased: false, orderId: row.order_id as string | null }

export const orderStateFromRow = (row: Row): OrderState => ({
  orderId: row.order_id as string,
  status: row.status as number,
  receiptId: uuidFrom(row.receipt as string),
  receivedAt: row.received_at as number,
})

export const deliveryFromRow = (row: Row): Delivery => ({
  ...receiptFromRow(row),
  position: row.position as number,
  customerId: row.customer_id as string,
  ...erasureFromRow(row),
  payload: row.payload as Uint8Array,
  origin: originFrom(row.origin, row.key_label as string | null, Boolean(row.erased)),
})

export const summaryFromRow = (row: Row): DeliverySummary => ({
  ...receiptFromRow(row),
  position: row.position as number,
  customerId: row.customer_id as string,
  ...erasureFromRow(row),
  payloadBytes: row.payload_bytes as number,
})

export const orderFromRow = (row: Row): Order => ({
  ...orderStateFromRow(row),
  customerId: row.customer_id as string,
  position: row.position as number,
  payloadBytes: row.payload_bytes as number,
})

/** Returns the smallest and the largest receipt that begin with a prefix, as 32 hexadecimal digits. */
export function receiptRange(prefix: string): [first: string, last: string] {
  const digits = prefix.replaceAll('-', '').slice(0, 32)
  return [digits.padEnd(32, '0'), digits.padEnd(32, 'f')]
}
