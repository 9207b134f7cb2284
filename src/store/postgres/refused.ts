import { FREED_AT_ONCE, ROW_BYTES } from '#src/lib/refused-limits.ts'
import type { RefusedStore } from '../refused-store.ts'
import { codeInDetails, refusalBounds, refusalPage, refusedBodyFromRow, refusedSummaryFromRow } from '../shared/rows.ts'
import { columnsOf, type Database, type Query, type Row } from './database.ts'

interface Whose {
  readonly where: string
  readonly order: string
}

/** Compares rows: with `customer_id = $1` PostgreSQL might walk the index of all refusals, past those of other customers. */
const OF_CUSTOMER: Whose = {
  where: '(customer_id, refusal) >= ($1, $2) AND (customer_id, refusal) < ($1, $3) AND refusal IS NOT NULL',
  order: 'customer_id DESC, refusal DESC',
}
const OF_ALL: Whose = {
  where: '$1::text IS NULL AND refusal >= $2 AND refusal < $3 AND refusal IS NOT NULL',
  order: 'refusal DESC',
}

/** The newest refusals in the audit log and among the bodies: those of customer `$1`, or of all if it is NULL. */
const FOUND = ({ where, order }: Whose): string => `
  (SELECT refusal FROM audit_event WHERE ${where} ORDER BY ${order} LIMIT $4)
  UNION
  (SELECT refusal FROM refused_delivery WHERE ${where} ORDER BY ${order} LIMIT $4)`

/** Finds the last refusal to look at, and the next one if there is one. */
const FOUND_END = (whose: Whose): string => `
  WITH found AS MATERIALIZED (${FOUND(whose)})
  SELECT refusal FROM found ORDER BY refusal DESC LIMIT 2 OFFSET $5`

const REFUSALS = (whose: Whose): string => `
  WITH found AS MATERIALIZED (${FOUND(whose)}), described AS MATERIALIZED (
    SELECT f.refusal, coalesce(a.at, r.at) AS at, coalesce(a.customer_id, r.customer_id) AS customer_id,
           coalesce(a.key_id, r.key_id) AS key_id, k.label, coalesce(a.order_id, r.order_id) AS order_id, a.details,
           r.error_code, r.message, coalesce(a.request_id, r.request_id) AS request_id, r.payload_bytes
      FROM (SELECT refusal FROM found ORDER BY refusal DESC LIMIT $4) f
      LEFT JOIN LATERAL (SELECT * FROM audit_event WHERE refusal = f.refusal AND refusal IS NOT NULL LIMIT 1) a ON true
      LEFT JOIN LATERAL (SELECT *, octet_length(payload) AS payload_bytes FROM refused_delivery
                          WHERE refusal = f.refusal LIMIT 1) r ON true
      LEFT JOIN LATERAL (SELECT label FROM api_key WHERE id = coalesce(a.key_id, r.key_id) LIMIT 1) k ON true
  )
  SELECT * FROM described
   WHERE ($5::text IS NULL OR order_id = $5)
     AND ($6::text IS NULL OR error_code = $6 OR error_code IS NULL AND position($7::text IN details) > 0)
     AND ($8::text IS NULL OR request_id = $8)
   ORDER BY refusal DESC
   LIMIT $9`

/** Locks the only row, so that replicas keep bodies one after the other. */
const COUNT = `
  UPDATE refused_tally SET bytes = bytes + $1, removed = removed + $2, not_kept = not_kept + $3 RETURNING bytes`

const INSERT = `
  INSERT INTO refused_delivery (refusal, at, customer_id, key_id, order_id, error_code, message, request_id, address, payload)
  SELECT refusal, at, customer_id, key_id, order_id, error_code, message, request_id, address, payload
    FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                $9::text[], $10::bytea[]) WITH ORDINALITY
      AS body (refusal, at, customer_id, key_id, order_id, error_code, message, request_id, address, payload, place)
    JOIN customer c ON c.id = body.customer_id AND c.erased_at IS NULL
   ORDER BY place
  ON CONFLICT DO NOTHING
  RETURNING octet_length(payload) AS bytes`

const COLUMNS = `
  r.refusal, r.at, r.customer_id, r.key_id, k.label, r.order_id, r.error_code, r.message, r.request_id, r.address,
  NULL AS details`

const FROM = 'refused_delivery r LEFT JOIN api_key k ON k.id = r.key_id'

const LIST = `
  SELECT ${COLUMNS}, octet_length(r.payload) AS payload_bytes FROM ${FROM}
   WHERE r.refusal >= $1 AND r.refusal < $2 AND ($3::text IS NULL OR r.customer_id = $3)
     AND ($4::text IS NULL OR r.order_id = $4) AND ($5::text IS NULL OR r.request_id = $5)
   ORDER BY r.refusal DESC LIMIT $6`

const IDS = 'SELECT refusal FROM refused_delivery WHERE refusal >= $1 AND refusal < $2 ORDER BY refusal LIMIT $3'

const TALLY = `
  SELECT bytes, removed, not_kept, (SELECT count(*) FROM refused_delivery) AS bodies FROM refused_tally`

/** Removes those that came first (a clock may have been wrong), as long as those before them have less than `$1` bytes. */
const DELETE_FIRST = `
  DELETE FROM refused_delivery WHERE number IN (
    SELECT number
      FROM (SELECT number, sum(bytes) OVER (ORDER BY number) - bytes AS before
              FROM (SELECT number, octet_length(payload) + ${ROW_BYTES} AS bytes FROM refused_delivery
                     ORDER BY number LIMIT $2) first) summed
     WHERE before < $1)
  RETURNING octet_length(payload) AS bytes`

const DELETE_EXPIRED = `
  DELETE FROM refused_delivery
   WHERE number IN (SELECT number FROM refused_delivery WHERE refusal < $1 ORDER BY refusal LIMIT $2)
  RETURNING octet_length(payload) AS bytes`

const DELETE_OF_ONE = `
  DELETE FROM refused_delivery
   WHERE number IN (SELECT number FROM refused_delivery WHERE customer_id = $1 LIMIT $2)
  RETURNING octet_length(payload) AS bytes`

const FORGET_ORDERS = `
  UPDATE audit_event SET order_id = NULL
   WHERE number IN (SELECT number FROM audit_event
                     WHERE customer_id = $1 AND refusal IS NOT NULL AND order_id IS NOT NULL LIMIT $2)`

const AT_ONCE = 500
const EVERY_ID = 'g'

const sizeOf = (rows: readonly Row[]): number => rows.reduce((sum, { bytes }) => sum + Number(bytes) + ROW_BYTES, 0)

export const refusedReads = (query: Query): Pick<RefusedStore, 'refusals'> => ({
  async refusals(filter, { most, look }) {
    const { customerId = null, orderId = null, errorCode, requestId = null } = filter
    const whose = customerId === null ? OF_ALL : OF_CUSTOMER
    const [from, below] = refusalBounds(filter)
    const filters = [orderId, errorCode ?? null, codeInDetails(errorCode), requestId] as const
    const isFiltered = filters.some((value) => value !== null)
    const ends = isFiltered ? (await query(FOUND_END(whose), customerId, from, below, look + 1, look - 1)).rows : []
    const end = ends[1] === undefined ? null : (ends[0]?.refusal as string)
    const among = [customerId, end ?? from, below, isFiltered ? look : most + 1] as const
    return refusalPage((await query(REFUSALS(whose), ...among, ...filters, most + 1)).rows, end, most)
  },
})

export function postgresRefused({ query, transaction }: Database): RefusedStore {
  /** Runs with the lock on the tally, and counts what the statement removed. */
  const removing = (sql: string, ...values: (string | number)[]): Promise<number> =>
    transaction(async (query) => {
      await query(COUNT, 0, 0, 0)
      const { rows } = await query(sql, ...values)
      if (rows.length > 0) await query(COUNT, -sizeOf(rows), 0, 0)
      return rows.length
    })

  return {
    ...refusedReads(query),
    keep: (bodies, { mostBytes, notKept }) =>
      transaction(async (query) => {
        await query(COUNT, 0, 0, notKept)
        const names = ['refusalId', 'at', 'customerId', 'keyId', 'orderId'] as const
        const more = ['errorCode', 'message', 'requestId', 'address'] as const
        const payloads = bodies.map(({ payload }) => `\\x${Buffer.from(payload).toString('hex')}`)
        const { rows } = await query(INSERT, ...columnsOf(bodies, ...names, ...more), payloads)
        const added = sizeOf(rows)
        const bytes = Number((await query(COUNT, added, 0, 0)).rows[0]?.bytes)
        let removed = 0
        for (let toFree = Math.min(bytes - mostBytes, added + FREED_AT_ONCE); toFree > 0; ) {
          const gone = (await query(DELETE_FIRST, toFree, AT_ONCE)).rows
          if (gone.length === 0) break
          removed += gone.length
          toFree -= sizeOf(gone)
          await query(COUNT, -sizeOf(gone), gone.length, 0)
        }
        return removed
      }),
    async find(refusalId) {
      const { rows } = await query(`SELECT ${COLUMNS}, r.payload FROM ${FROM} WHERE r.refusal = $1`, refusalId)
      return rows[0] && refusedBodyFromRow(rows[0])
    },
    async list({ customerId = null, orderId = null, requestId = null, limit, ...range }) {
      const { rows } = await query(LIST, ...refusalBounds(range), customerId, orderId, requestId, limit)
      return rows.map(refusedSummaryFromRow).reverse()
    },
    idsWith: async (prefix, limit) =>
      (await query(IDS, prefix, `${prefix}${EVERY_ID}`, limit)).rows.map(({ refusal }) => refusal as string),
    async tally() {
      const row = (await query(TALLY)).rows[0] as Row
      return {
        bodies: Number(row.bodies),
        bytes: Number(row.bytes),
        removed: Number(row.removed),
        notKept: Number(row.not_kept),
      }
    },
    deleteBefore(before, limit) {
      const [, below] = refusalBounds({ to: before })
      return removing(DELETE_EXPIRED, below, limit)
    },
    async erase(customerId, limit) {
      const removed = await removing(DELETE_OF_ONE, customerId, limit)
      const forgotten = (await query(FORGET_ORDERS, customerId, limit)).count
      return removed === limit || forgotten === limit
    },
    wipePages: async () => null,
  }
}
