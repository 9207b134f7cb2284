import { auditEventFromRow } from '../audit-row.ts'
import type { AuditStore } from '../store.ts'
import type { Database } from './database.ts'
import type { Writer } from './thread/writer.ts'

const LIST = `
  SELECT at, actor, action, customer_id, address, request_id, details FROM audit_event
   WHERE ($1 IS NULL OR customer_id = $1) AND substr(action, 1, length($2)) = $2 AND at >= $3 AND at < $4
   ORDER BY at DESC, number DESC LIMIT $5`

export function sqliteAudit(database: Database, writer: Writer): AuditStore {
  return {
    append: (events) => writer.run('appendAudit', [events]),
    list: async ({ customerId = null, action = '', from = 0, to = Number.MAX_SAFE_INTEGER, limit }) =>
      database.all(LIST, customerId, action, from, to, limit).map(auditEventFromRow).reverse(),
    deleteBefore: (before, limit) => writer.run('deleteAuditBefore', [before, limit]),
  }
}
