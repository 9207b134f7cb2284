import { auditEventFromRow } from '../rows.ts'
import type { AuditStore } from '../store.ts'
import { columnsOf, type Database } from './database.ts'
import { addRefusals } from './roll-ups.ts'

const APPEND = `
  INSERT INTO audit_event (at, actor, action, customer_id, address, request_id, refusal, key_id, details, order_id)
  SELECT at, actor, action, customer_id, address, request_id, refusal, key_id, details,
         CASE WHEN (SELECT erased_at FROM customer WHERE id = customer_id) IS NULL THEN order_id END
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
      AS event (at, actor, action, customer_id, address, request_id, refusal, key_id, order_id, details)`

const LIST = `
  SELECT at, actor, action, customer_id, address, request_id, details, refusal, order_id, key_id FROM audit_event
   WHERE ($1::text IS NULL OR customer_id = $1) AND starts_with(action, $2) AND at >= $3 AND at < $4
     AND ($5::text IS NULL OR order_id = $5) AND ($6::text IS NULL OR request_id = $6)
   ORDER BY at DESC, number DESC LIMIT $7`

/** SKIP LOCKED: replicas that delete at the same time delete different rows. */
const DELETE_BEFORE = `
  DELETE FROM audit_event
   WHERE number IN (SELECT number FROM audit_event WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)`

export function postgresAudit({ query, transaction }: Database): AuditStore {
  return {
    async append(events, refusals = []) {
      const names = [
        'at',
        'actor',
        'action',
        'customerId',
        'address',
        'requestId',
        'refusalId',
        'keyId',
        'orderId',
      ] as const
      const columns = columnsOf(events, ...names)
      const details = events.map(({ details }) => JSON.stringify(details))
      if (refusals.length === 0) await query(APPEND, ...columns, details)
      else
        await transaction(async (query) => {
          // First, because it may wait for another replica, while a customer may be erased, which APPEND looks at.
          await addRefusals(query, refusals)
          await query(APPEND, ...columns, details)
        })
    },
    async list({ customerId = null, action = '', from = 0, to = Number.MAX_SAFE_INTEGER, ...more }) {
      const { orderId = null, requestId = null, limit } = more
      const { rows } = await query(LIST, customerId, action, from, to, orderId, requestId, limit)
      return rows.map(auditEventFromRow).reverse()
    },
    deleteBefore: async (before, limit) => (await query(DELETE_BEFORE, before, limit)).count,
  }
}
