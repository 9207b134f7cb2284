import { auditEventFromRow } from '../rows.ts'
import type { AuditStore } from '../store.ts'
import type { Database } from './database.ts'
import { type Operations, type StoreThread, sendOperations } from './thread/operations.ts'

const INSERT = `
  INSERT INTO audit_event (at, actor, action, customer_id, address, request_id, details)
  VALUES ($1, $2, $3, $4, $5, $6, $7)`

const LIST = `
  SELECT at, actor, action, customer_id, address, request_id, details FROM audit_event
   WHERE ($1 IS NULL OR customer_id = $1) AND substr(action, 1, length($2)) = $2 AND at >= $3 AND at < $4
   ORDER BY at DESC, number DESC LIMIT $5`

const DELETE_BEFORE = `
  DELETE FROM audit_event
   WHERE number IN (SELECT number FROM audit_event WHERE at < $1 ORDER BY at LIMIT $2)`

/** Run by the writer thread. */
export const auditWrites = {
  append: (database, events) =>
    database.transaction(() => {
      for (const { at, actor, action, customerId, address, requestId, details } of events) {
        database.run(INSERT, at, actor, action, customerId, address, requestId, JSON.stringify(details))
      }
    }),
  deleteBefore: (database, before, limit) => database.transaction(() => database.run(DELETE_BEFORE, before, limit)),
} satisfies Operations<AuditStore>

export const sqliteAudit = (database: Database, writer: StoreThread): AuditStore => ({
  ...sendOperations(auditWrites, writer, 'audit'),
  list: async ({ customerId = null, action = '', from = 0, to = Number.MAX_SAFE_INTEGER, limit }) =>
    database.all(LIST, customerId, action, from, to, limit).map(auditEventFromRow).reverse(),
})
