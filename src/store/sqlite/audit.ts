import { auditEventFromRow } from '../rows.ts'
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
   ORDER BY at DESC, number DESC LIMIT $7`

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

export const sqliteAudit = (database: Database, writer: StoreThread): AuditStore => ({
  ...sendOperations(auditWrites, writer, 'audit'),
  list: async ({ customerId = null, action = '', from = 0, to = Number.MAX_SAFE_INTEGER, ...more }) => {
    const { orderId = null, requestId = null, limit } = more
    const rows = database.all(LIST, customerId, action, from, to, orderId, requestId, limit)
    return rows.map(auditEventFromRow).reverse()
  },
})
