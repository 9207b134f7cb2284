import type {
  ApiKey,
  AuditEvent,
  Counts,
  KeySummary,
  ListedApiKey,
  PurgeState,
  Refusal,
  RefusalRange,
  RefusedBody,
  RefusedBodySummary,
  SigningKey,
} from '../store.ts'
import { firstReceiptOf, uuidFrom } from './uuid.ts'

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

export const auditEventFromRow = (row: Row): AuditEvent => ({
  at: row.at as number,
  actor: row.actor as string,
  action: row.action as string,
  customerId: row.customer_id as string | null,
  address: row.address as string | null,
  requestId: row.request_id as string | null,
  refusalId: row.refusal as string | null,
  orderId: row.order_id as string | null,
  keyId: row.key_id as string | null,
  details: JSON.parse(row.details as string),
})

export const purgeStateFromRow = (row: Row): PurgeState => ({
  generation: row.generation as number,
  position: row.position as number,
  announced: row.announced as number,
  lost: row.last_left === null ? null : { at: row.lost_at as number | null, lastPosition: row.last_left as number },
})

export const countsFromRows = (
  deliveries: readonly Row[],
  refusals: readonly Row[],
): Pick<Counts, 'deliveries' | 'refusals'> => ({
  deliveries: deliveries.map((row) => ({
    period: row.period as number,
    byStatus: [row.status_0, row.status_1, row.status_2, row.status_3].map((count) => Number(count ?? 0)),
    echoes: Number(row.echoes ?? 0),
  })),
  refusals: refusals.map((row) => ({
    period: row.period as number,
    action: row.action as string,
    errorCode: row.code as string,
    count: row.count as number,
  })),
})

/** Returns the smallest id that a range includes, and the smallest one above it, for a comparison of texts. */
export function refusalBounds(range: RefusalRange & { readonly idPrefix?: string | undefined }): [string, string] {
  const { before = AFTER_EVERY_ID, from, to, idPrefix = '' } = range
  const first = from === undefined ? '' : firstIdOf(from)
  const end = to === undefined ? AFTER_EVERY_ID : firstIdOf(to)
  return [larger(idPrefix, first), smaller(smaller(before, end), `${idPrefix}${AFTER_EVERY_ID}`)]
}

const larger = (one: string, other: string): string => (one > other ? one : other)
const smaller = (one: string, other: string): string => (one < other ? one : other)

const AFTER_EVERY_ID = 'g'

/** The beginning of every id of a time. */
const firstIdOf = (time: number): string => uuidFrom(firstReceiptOf(time)).slice(0, 13)

/** Reads a row with `details` of an audit event, or with the columns of a kept body, or with both. */
export function refusalFromRow(row: Row): Refusal {
  const { errorCode, message } = JSON.parse((row.details as string | null) ?? '{}')
  return {
    refusalId: row.refusal as string,
    at: row.at as number,
    customerId: row.customer_id as string | null,
    keyId: row.key_id as string | null,
    keyLabel: row.label as string | null,
    orderId: row.order_id as string | null,
    errorCode: (row.error_code as string | null) ?? errorCode,
    message: (row.message as string | null) ?? message ?? '',
    requestId: row.request_id as string | null,
    payloadBytes: row.payload_bytes as number | null,
  }
}

/** `rows` are the refusals that fit, and the next one if there are more than `most`. `end` is where the walk ended; null at the end. */
export function refusalPage(rows: readonly Row[], end: string | null, most: number) {
  const refusals = rows.slice(0, most).map(refusalFromRow)
  return { refusals, next: rows.length > most ? (refusals.at(-1)?.refusalId ?? null) : end }
}

/** The text that `details` of an audit event has for an error code. A quotation mark within another value has a backslash. */
export const codeInDetails = (errorCode: string | undefined): string | null =>
  errorCode === undefined ? null : `"errorCode":${JSON.stringify(errorCode)}`

export const refusedSummaryFromRow = (row: Row): RefusedBodySummary => ({
  ...(refusalFromRow(row) as Omit<RefusedBodySummary, 'address'>),
  address: row.address as string,
})

export function refusedBodyFromRow(row: Row): RefusedBody {
  const { payloadBytes: _, ...body } = refusedSummaryFromRow({ ...row, payload_bytes: 0 })
  return { ...body, payload: row.payload as Uint8Array }
}
