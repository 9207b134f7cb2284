import { FREED_AT_ONCE, ROW_BYTES } from '#src/lib/refused-limits.ts'
import type { RefusedStore } from '../refused-store.ts'
import { codeInDetails, refusalBounds, refusalPage, refusedBodyFromRow, refusedSummaryFromRow } from '../shared/rows.ts'
import { NO_LIMIT } from '../shared/walks.ts'
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

/**
 * The newest refusals in the audit log and among the bodies: those of customer `$1`, or of all if it is NULL. The planner does not know
 * this limit, also behind a pooler: without statistics it would rather sort all refusals than walk to a limit of hundreds.
 */
const NEWEST = (table: string, { where, order }: Whose, columns: string): string => `
  SELECT ${columns} FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT (SELECT $4::bigint)`

/** Each row has the last refusal that was looked at, as `walk_end`: NULL if none follows. If none fits, there is one row without a refusal. */
const REFUSALS = (whose: Whose): string => `
  WITH logged AS MATERIALIZED (${NEWEST('audit_event', whose, 'refusal, at, customer_id, key_id, order_id, request_id, details')}),
  kept AS MATERIALIZED (${NEWEST('refused_delivery', whose, 'refusal, number')}),
  described AS MATERIALIZED (
    SELECT f.refusal, coalesce(f.at, r.at) AS at, coalesce(f.customer_id, r.customer_id) AS customer_id,
           coalesce(f.key_id, r.key_id) AS key_id, coalesce(f.order_id, r.order_id) AS order_id, f.details,
           r.error_code, r.message, coalesce(f.request_id, r.request_id) AS request_id, r.payload_bytes
      FROM (SELECT * FROM logged FULL JOIN kept USING (refusal) ORDER BY refusal DESC LIMIT $4) f
      LEFT JOIN LATERAL (SELECT *, octet_length(payload) AS payload_bytes FROM refused_delivery
                          WHERE number = f.number LIMIT 1) r ON true
  ), last_two AS MATERIALIZED (
    SELECT refusal FROM described ORDER BY refusal DESC LIMIT 2 OFFSET $10
  ), edge AS MATERIALIZED (
    SELECT max(refusal) AS refusal FROM last_two HAVING count(*) = 2
  )
  SELECT f.*, (SELECT label FROM api_key WHERE id = key_id) AS label, (SELECT refusal FROM edge) AS walk_end
    FROM (VALUES (1)) always (one)
    LEFT JOIN (
      SELECT * FROM described
       WHERE refusal >= coalesce((SELECT refusal FROM edge), '')
         AND ($5::text IS NULL OR order_id = $5)
         AND ($6::text IS NULL OR error_code = $6 OR error_code IS NULL AND position($7::text IN details) > 0)
         AND ($8::text IS NULL OR request_id = $8)
       ORDER BY refusal DESC
       LIMIT $9
    ) f ON true
   ORDER BY refusal DESC`

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

/** The innermost LIMIT keeps the planner from sorting all for values that it believes to be rare: it limits nothing. */
const LIST = ({ where, order }: Whose): string => `
  SELECT ${COLUMNS}, r.payload_bytes
    FROM (SELECT *, octet_length(payload) AS payload_bytes
            FROM (SELECT * FROM refused_delivery WHERE ${where} ORDER BY ${order} LIMIT (SELECT $6::bigint)) walk
           WHERE ($4::text IS NULL OR order_id = $4) AND ($5::text IS NULL OR request_id = $5)
           ORDER BY ${order} LIMIT $7) r
    LEFT JOIN api_key k ON k.id = r.key_id
   ORDER BY r.refusal DESC`

const IDS = 'SELECT refusal FROM refused_delivery WHERE refusal >= $1 AND refusal < $2 ORDER BY refusal LIMIT $3'

const TALLY = `
  SELECT bytes, removed, not_kept, (SELECT count(*) FROM refused_delivery) AS bodies FROM refused_tally`

/** Removes those that came first (a clock may have been wrong), as long as those before them have less than `$1` bytes. */
const DELETE_FIRST = `
  DELETE FROM refused_delivery WHERE number = ANY (ARRAY(
    SELECT number
      FROM (SELECT number, sum(bytes) OVER (ORDER BY number) - bytes AS before
              FROM (SELECT number, octet_length(payload) + ${ROW_BYTES} AS bytes FROM refused_delivery
                     ORDER BY number LIMIT $2) first) summed
     WHERE before < $1))
  RETURNING octet_length(payload) AS bytes`

const DELETE_EXPIRED = `
  DELETE FROM refused_delivery
   WHERE number = ANY (ARRAY(SELECT number FROM refused_delivery WHERE refusal < $1 ORDER BY refusal LIMIT $2))
  RETURNING octet_length(payload) AS bytes`

const DELETE_OF_ONE = `
  DELETE FROM refused_delivery
   WHERE number = ANY (ARRAY(${NEWEST('refused_delivery', OF_CUSTOMER, 'number')}))
  RETURNING octet_length(payload) AS bytes`

const FORGET_ORDERS = `
  UPDATE audit_event SET order_id = NULL
   WHERE number = ANY (ARRAY(
     ${NEWEST('audit_event', { ...OF_CUSTOMER, where: `${OF_CUSTOMER.where} AND order_id IS NOT NULL` }, 'number')}))`

const AT_ONCE = 500
const EVERY_ID = 'g'

const sizeOf = (rows: readonly Row[]): number => rows.reduce((sum, { bytes }) => sum + Number(bytes) + ROW_BYTES, 0)

export const refusedReads = (query: Query): Pick<RefusedStore, 'refusals' | 'list'> => ({
  async refusals(filter, { most, look }) {
    const { customerId = null, orderId = null, errorCode, requestId = null } = filter
    const whose = customerId === null ? OF_ALL : OF_CUSTOMER
    const [from, below] = refusalBounds(filter)
    const filters = [orderId, errorCode ?? null, codeInDetails(errorCode), requestId] as const
    const isFiltered = filters.some((value) => value !== null)
    const looked = isFiltered ? look : most
    const among = [customerId, from, below, looked + 1] as const
    const { rows } = await query(REFUSALS(whose), ...among, ...filters, most + 1, Math.max(0, looked - 1))
    const found = rows.filter(({ refusal }) => refusal !== null)
    return refusalPage(found, rows[0]?.walk_end as string | null, most)
  },
  async list({ customerId = null, orderId = null, requestId = null, limit, ...range }) {
    const whose = customerId === null ? OF_ALL : OF_CUSTOMER
    const { rows } = await query(LIST(whose), customerId, ...refusalBounds(range), orderId, requestId, NO_LIMIT, limit)
    return rows.map(refusedSummaryFromRow).reverse()
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
      const all = [customerId, '', EVERY_ID, limit] as const
      const removed = await removing(DELETE_OF_ONE, ...all)
      const forgotten = (await query(FORGET_ORDERS, ...all)).count
      return removed === limit || forgotten === limit
    },
    wipePages: async () => null,
  }
}
