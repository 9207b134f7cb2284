import { type AuditWay, auditPage, auditWalk, placeFromRow } from '../shared/audit-walk.ts'
import { auditEventFromRow } from '../shared/rows.ts'
import { NO_LIMIT } from '../shared/walks.ts'
import type { AuditStore } from '../store.ts'
import { columnsOf, type Database, type Query } from './database.ts'
import { addRefusals } from './roll-ups.ts'

const APPEND = `
  INSERT INTO audit_event (at, actor, action, customer_id, address, request_id, refusal, key_id, details, order_id)
  SELECT at, actor, action, customer_id, address, request_id, refusal, key_id, details,
         CASE WHEN (SELECT erased_at FROM customer WHERE id = customer_id) IS NULL THEN order_id END
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
      AS event (at, actor, action, customer_id, address, request_id, refusal, key_id, order_id, details)`

/** Compares rows, so that PostgreSQL walks the index that is meant, whatever it believes about the values. */
const along = (column: string) => ({
  range: `(${column}, at, number) < ($1, $2::bigint, $3::bigint) AND (${column}, at, number) >= ($1, $4::bigint, $5::bigint)
     AND ${column} IS NOT NULL`,
  order: `${column} DESC, at DESC, number DESC`,
})

const WAYS: Record<AuditWay, ReturnType<typeof along>> = {
  request: along('request_id'),
  customer: along('customer_id'),
  all: {
    range: '$1::text IS NULL AND (at, number) < ($2::bigint, $3::bigint) AND (at, number) >= ($4::bigint, $5::bigint)',
    order: 'at DESC, number DESC',
  },
}

/** Finds the last event to look at, and the next one if there is one. */
const BEFORE_END = (way: AuditWay): string => `
  SELECT at, number FROM audit_event WHERE ${WAYS[way].range} ORDER BY ${WAYS[way].order} LIMIT 2 OFFSET $6`

/**
 * The inner LIMIT keeps the planner from sorting all events for values that it believes to be rare. The planner is not to know how high
 * it is, which it would behind a pooler: for a high one it would sort them.
 */
const BEFORE = (way: AuditWay): string => `
  SELECT number, at, actor, action, customer_id, address, request_id, details, refusal, order_id, key_id
    FROM (SELECT * FROM audit_event WHERE ${WAYS[way].range} ORDER BY ${WAYS[way].order} LIMIT (SELECT $6::bigint)) e
   WHERE starts_with(action, $7)
     AND ($8::text IS NULL OR customer_id = $8) AND ($9::text IS NULL OR order_id = $9)
     AND ($10::text IS NULL OR request_id = $10) AND ($11::text IS NULL OR key_id = $11 OR strpos(details, $12) > 0)
   ORDER BY ${WAYS[way].order} LIMIT $13`

export const auditReads = (query: Query): Pick<AuditStore, 'before' | 'list'> => ({
  async before(place, filter, bounds) {
    const { way, start, end, filters, isFiltered } = auditWalk(place, filter)
    const ends = isFiltered ? (await query(BEFORE_END(way), ...start, ...end, bounds.look - 1)).rows : []
    const stop = ends[1] === undefined ? null : placeFromRow(ends[0])
    const look = isFiltered ? bounds.look : bounds.most + 1
    const { rows } = await query(BEFORE(way), ...start, ...(stop ?? end), look, ...filters, bounds.most + 1)
    return auditPage(rows, stop, bounds)
  },
  async list({ limit, ...filter }) {
    const { way, start, end, filters } = auditWalk(null, filter)
    const { rows } = await query(BEFORE(way), ...start, ...end, NO_LIMIT, ...filters, limit)
    return rows.map(auditEventFromRow).reverse()
  },
})

export function postgresAudit({ query, transaction }: Database): AuditStore {
  return {
    ...auditReads(query),
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
    deleteBefore: async (before, limit) =>
      (await query('SELECT delete_audit_1($1, $2) AS deleted', before, limit)).rows[0]?.deleted as number,
  }
}
