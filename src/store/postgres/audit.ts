import { auditEventFromRow } from '../rows.ts'
import type { AuditStore } from '../store.ts'
import { columnsOf, type Database } from './database.ts'

const APPEND = `
  INSERT INTO audit_event (at, actor, action, customer_id, address, request_id, details)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])`

const LIST = `
  SELECT at, actor, action, customer_id, address, request_id, details FROM audit_event
   WHERE ($1::text IS NULL OR customer_id = $1) AND starts_with(action, $2) AND at >= $3 AND at < $4
   ORDER BY at DESC, number DESC LIMIT $5`

/** SKIP LOCKED: replicas that delete at the same time delete different rows. */
const DELETE_BEFORE = `
  DELETE FROM audit_event
   WHERE number IN (SELECT number FROM audit_event WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)`

export function postgresAudit({ query }: Database): AuditStore {
  return {
    async append(events) {
      const columns = columnsOf(events, 'at', 'actor', 'action', 'customerId', 'address', 'requestId')
      const details = events.map(({ details }) => JSON.stringify(details))
      await query(APPEND, ...columns, details)
    },
    async list({ customerId = null, action = '', from = 0, to = Number.MAX_SAFE_INTEGER, limit }) {
      const { rows } = await query(LIST, customerId, action, from, to, limit)
      return rows.map(auditEventFromRow).reverse()
    },
    deleteBefore: async (before, limit) => (await query(DELETE_BEFORE, before, limit)).count,
  }
}
