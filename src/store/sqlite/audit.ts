import { type AuditWay, auditPage, auditWalk, keyInDetails, placeFromRow } from '../shared/audit-walk.ts'
import { auditEventFromRow } from '../shared/rows.ts'
import type { AuditStore } from '../store.ts'
import type { Database } from './database.ts'
import { addRefusals } from './roll-ups.ts'
import { type Operations, type StoreThread, sendOperations } from './thread/operations.ts'

/** An erasure leaves dashes instead of an order id: see refused.ts. */
export const SHOWN_ORDER = `CASE WHEN ltrim(order_id, '-') <> '' THEN order_id END`

const INSERT = `
  INSERT INTO audit_event (at, actor, action, customer_id, address, request_id, details, refusal, key_id, order_id)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, CASE WHEN (SELECT erased_at FROM customer WHERE id = $4) IS NULL THEN $10 END)`

const LIST = `
  SELECT at, actor, action, customer_id, address, request_id, details, refusal, key_id, ${SHOWN_ORDER} AS order_id
    FROM audit_event
   WHERE ($1 IS NULL OR customer_id = $1) AND substr(action, 1, length($2)) = $2 AND at >= $3 AND at < $4
     AND ($5 IS NULL OR order_id = $5) AND ($6 IS NULL OR request_id = $6)
     AND ($7 IS NULL OR key_id = $7 OR instr(details, $8) > 0)
   ORDER BY at DESC, number DESC LIMIT $9`

const ALONG: Record<AuditWay, string> = {
  request: 'request_id = $1',
  customer: 'customer_id = $1',
  all: '$1 IS NULL',
}

const RANGE = (way: AuditWay): string => `${ALONG[way]} AND (at, number) < ($2, $3) AND (at, number) >= ($4, $5)`

/** Finds the last event to look at, and the next one if there is one. */
const BEFORE_END = (way: AuditWay): string => `
  SELECT at, number FROM audit_event WHERE ${RANGE(way)} ORDER BY at DESC, number DESC LIMIT 2 OFFSET $6`

const BEFORE = (way: AuditWay): string => `
  SELECT number, at, actor, action, customer_id, address, request_id, details, refusal, key_id, ${SHOWN_ORDER} AS order_id
    FROM audit_event
   WHERE ${RANGE(way)} AND substr(action, 1, length($6)) = $6
     AND ($7 IS NULL OR customer_id = $7) AND ($8 IS NULL OR order_id = $8) AND ($9 IS NULL OR request_id = $9)
     AND ($10 IS NULL OR key_id = $10 OR instr(details, $11) > 0)
   ORDER BY at DESC, number DESC LIMIT $12`

const DELETE_BEFORE = `
  DELETE FROM audit_event
   WHERE number IN (SELECT number FROM audit_event WHERE at < $1 ORDER BY at LIMIT $2)`

/** Run by the writer thread. */
export const auditWrites = {
  append: (database, events, refusals = []) =>
    database.transaction(() => {
      for (const { at, actor, action, customerId, address, requestId, details, refusalId, keyId, orderId } of events) {
        const ids = [refusalId, keyId, orderId]
        database.run(INSERT, at, actor, action, customerId, address, requestId, JSON.stringify(details), ...ids)
      }
      addRefusals(database, refusals)
    }),
  deleteBefore: (database, before, limit) => database.transaction(() => database.run(DELETE_BEFORE, before, limit)),
} satisfies Operations<AuditStore>

/** Run by the reader thread. */
export const auditReads = {
  before(database, place, filter, bounds) {
    const { way, start, end, filters, isFiltered } = auditWalk(place, filter)
    const [last, more] = isFiltered ? database.all(BEFORE_END(way), ...start, ...end, bounds.look - 1) : []
    const stop = more === undefined ? null : placeFromRow(last)
    const rows = database.all(BEFORE(way), ...start, ...(stop ?? end), ...filters, bounds.most + 1)
    return auditPage(rows, stop, bounds)
  },
} satisfies Operations<AuditStore>

export const sqliteAudit = (database: Database, writer: StoreThread, reader: StoreThread): AuditStore => ({
  ...sendOperations(auditWrites, writer, 'audit'),
  ...sendOperations(auditReads, reader, 'audit'),
  list: async ({ customerId = null, action = '', from = 0, to = Number.MAX_SAFE_INTEGER, ...more }) => {
    const { orderId = null, requestId = null, keyId, limit } = more
    const ids = [orderId, requestId, keyId ?? null, keyInDetails(keyId)] as const
    const rows = database.all(LIST, customerId, action, from, to, ...ids, limit)
    return rows.map(auditEventFromRow).reverse()
  },
})
