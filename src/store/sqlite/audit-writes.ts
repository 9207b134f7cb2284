import type { AuditEvent } from '../store.ts'
import type { Database } from './database.ts'

const INSERT = `
  INSERT INTO audit_event (at, actor, action, customer_id, address, request_id, details)
  VALUES ($1, $2, $3, $4, $5, $6, $7)`

const DELETE_BEFORE = `
  DELETE FROM audit_event
   WHERE number IN (SELECT number FROM audit_event WHERE at < $1 ORDER BY at LIMIT $2)`

/** What changes the audit log. Runs in the writer worker. */
export function auditWrites(database: Database) {
  return {
    appendAudit: (events: readonly AuditEvent[]): void =>
      database.transaction(() => {
        for (const { at, actor, action, customerId, address, requestId, details } of events) {
          database.run(INSERT, at, actor, action, customerId, address, requestId, JSON.stringify(details))
        }
      }),
    deleteAuditBefore: (before: number, limit: number): number =>
      database.transaction(() => database.run(DELETE_BEFORE, before, limit)),
  }
}
