import { isStorable } from '#src/lib/text.ts'
import type { AuditFilter, AuditPlace, Store } from '#src/store/store.ts'

interface AuditQuery extends AuditFilter {
  /** As `nextCursor` was. */
  readonly cursor?: string | undefined
  readonly limit: number
}

/** A time and a number that a store can have. */
export const CURSOR_PATTERN = '^[0-9]{1,15}-[0-9]{1,15}$'

/** Events that one request scans. */
const MAX_SCANNED = 2_000

/** Lists the audit log, newest first. `nextCursor` is null at the end. */
export const createAuditList =
  ({ audit, apiKeys }: Pick<Store, 'audit' | 'apiKeys'>) =>
  async ({ cursor, limit, ...filter }: AuditQuery) => {
    const { action, orderId, requestId, keyId, customerId } = filter
    const texts = [action, orderId, requestId, keyId].filter((text) => text !== undefined)
    const nothing = { events: [], nextCursor: null }
    if (!texts.every(isStorable)) return nothing
    // Every event about a key belongs to the customer of the key.
    const owner = keyId === undefined ? customerId : (await apiKeys.findById(keyId))?.customerId
    if (keyId !== undefined && (owner === undefined || (customerId ?? owner) !== owner)) return nothing
    const place = cursor === undefined ? null : placeOf(cursor)
    const bounds = { limit, scan: MAX_SCANNED }
    const { events, next } = await audit.before(place, { ...filter, customerId: owner }, bounds)
    return { events, nextCursor: next?.join('-') ?? null }
  }

function placeOf(cursor: string): AuditPlace {
  const [at = 0, number = 0] = cursor.split('-').map(Number)
  return [at, number]
}
