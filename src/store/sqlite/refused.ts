import { FREED_AT_ONCE, ROW_BYTES } from '#src/lib/refused-limits.ts'
import type { RefusedStore } from '../refused-store.ts'
import { codeInDetails, refusalBounds, refusalPage, refusedBodyFromRow, refusedSummaryFromRow } from '../shared/rows.ts'
import { type Database, type Row, withSecureDelete } from './database.ts'
import { withinBytes } from './purges/reads.ts'
import { type Operations, type StoreThread, sendOperations } from './thread/operations.ts'

/** The newest refusals in the audit log and among the bodies: those of customer `$1`, or of all if it is NULL. */
const FOUND = (whose: string): string => `
  SELECT * FROM (SELECT refusal FROM audit_event
                  WHERE ${whose} AND refusal IS NOT NULL AND refusal >= $2 AND refusal < $3
                  ORDER BY refusal DESC LIMIT $4)
  UNION
  SELECT * FROM (SELECT refusal FROM refused_delivery
                  WHERE ${whose} AND refusal >= $2 AND refusal < $3
                  ORDER BY refusal DESC LIMIT $4)`

/** Finds the last refusal to look at, and the next one if there is one. */
const FOUND_END = (whose: string): string => `
  WITH found AS (${FOUND(whose)}) SELECT refusal FROM found ORDER BY refusal DESC LIMIT 2 OFFSET $5`

const REFUSALS = (whose: string): string => `
  WITH found AS (${FOUND(whose)}), described AS (
    SELECT f.refusal, coalesce(a.at, r.at) AS at, coalesce(a.customer_id, r.customer_id) AS customer_id,
           coalesce(a.key_id, r.key_id) AS key_id, k.label,
           coalesce(CASE WHEN ltrim(a.order_id, '-') <> '' THEN a.order_id END, r.order_id) AS order_id, a.details,
           r.error_code, r.message, coalesce(a.request_id, r.request_id) AS request_id, length(r.payload) AS payload_bytes
      FROM (SELECT refusal FROM found ORDER BY refusal DESC LIMIT $4) f
      LEFT JOIN audit_event a ON a.refusal = f.refusal AND a.refusal IS NOT NULL
      LEFT JOIN refused_delivery r ON r.refusal = f.refusal
      LEFT JOIN api_key k ON k.id = coalesce(a.key_id, r.key_id)
     ORDER BY f.refusal DESC
  )
  SELECT * FROM described
   WHERE ($5 IS NULL OR order_id = $5) AND ($6 IS NULL OR error_code = $6 OR error_code IS NULL AND instr(details, $7) > 0)
     AND ($8 IS NULL OR request_id = $8)
   LIMIT $9`

const OF_ALL = '$1 IS NULL'
const OF_CUSTOMER = 'customer_id = $1'

const INSERT = `
  INSERT INTO refused_delivery (refusal, at, customer_id, key_id, order_id, error_code, message, request_id, address, payload)
  SELECT $1, $2, id, $4, $5, $6, $7, $8, $9, $10 FROM customer WHERE id = $3 AND erased_at IS NULL
  ON CONFLICT DO NOTHING`

const COUNT = `
  UPDATE refused_tally SET bytes = bytes + $1, removed = removed + $2, not_kept = not_kept + $3 RETURNING bytes`

const COLUMNS = `
  r.refusal, r.at, r.customer_id, r.key_id, k.label, r.order_id, r.error_code, r.message, r.request_id, r.address,
  NULL AS details`

const FROM = 'refused_delivery r LEFT JOIN api_key k ON k.id = r.key_id'

const LIST = `
  SELECT ${COLUMNS}, length(r.payload) AS payload_bytes FROM ${FROM}
   WHERE r.refusal >= $1 AND r.refusal < $2 AND ($3 IS NULL OR r.customer_id = $3)
     AND ($4 IS NULL OR r.order_id = $4) AND ($5 IS NULL OR r.request_id = $5)
   ORDER BY r.refusal DESC LIMIT $6`

const IDS = 'SELECT refusal FROM refused_delivery WHERE refusal >= $1 AND refusal < $2 ORDER BY refusal LIMIT $3'

/** In the order in which they came: a clock may have been wrong. */
const FIRST = 'SELECT number, length(payload) AS bytes FROM refused_delivery ORDER BY number LIMIT $1'

const EXPIRED = `
  SELECT number, length(payload) AS bytes FROM refused_delivery WHERE refusal < $1 ORDER BY refusal LIMIT $2`

const OF_ONE = 'SELECT number, length(payload) AS bytes FROM refused_delivery WHERE customer_id = $1 LIMIT $2'

const SHOWN_ORDER = `CASE WHEN ltrim(order_id, '-') <> '' THEN order_id END`

const NAMED = `
  SELECT number FROM audit_event
   WHERE customer_id = $1 AND refusal IS NOT NULL AND ${SHOWN_ORDER} IS NOT NULL LIMIT $2`

/** A text of the same size is written over the former one, in place. Otherwise SQLite would move rows and leave copies behind. */
const FORGET_ORDER = `
  UPDATE audit_event SET order_id = replace(hex(zeroblob(length(CAST(order_id AS BLOB)))), '00', '-') WHERE number = $1`

const SIZES_AFTER = `
  SELECT number, length(payload) AS bytes FROM refused_delivery WHERE number > $1 ORDER BY number LIMIT $2`
const SIZES_BEFORE = `
  SELECT number, length(payload) AS bytes FROM refused_delivery WHERE number <= $1 ORDER BY number DESC LIMIT $2`

const AT_ONCE = 500
/** SQLite balances up to three neighbouring pages. A row has at least `ROW_LEAST_BYTES` and at most `ROW_MOST_BYTES` of them. */
const NEIGHBOURS_BYTES = 4 * 4096
const ROW_LEAST_BYTES = 128
const ROW_MOST_BYTES = 640
const MOST_NEIGHBOURS = NEIGHBOURS_BYTES / ROW_LEAST_BYTES
/** Old events are only removed at the beginning of the table, so only the first pages can hold copies. */
const FIRST_EVENTS = 500
const EVERY_ID = 'g'

const sizeOf = (rows: readonly Row[]): number => rows.reduce((sum, { bytes }) => sum + (bytes as number) + ROW_BYTES, 0)

function remove(database: Database, rows: readonly Row[]): number {
  for (const { number } of rows) database.run('DELETE FROM refused_delivery WHERE number = $1', number as number)
  return sizeOf(rows)
}

/** Removes the bodies that came first until so many bytes are free. */
function makeRoom(database: Database, bytes: number): { readonly freed: number; readonly removed: number } {
  let [freed, removed] = [0, 0]
  while (freed < bytes) {
    const some = database.all(FIRST, AT_ONCE)
    if (some.length === 0) break
    let enough = 0
    for (let sum = freed; enough < some.length && sum < bytes; enough++) sum += sizeOf(some.slice(enough, enough + 1))
    freed += remove(database, some.slice(0, enough))
    removed += enough
  }
  return { freed, removed }
}

/** Returns the last of the rows that stand in the first few pages. */
const lastNeighbour = (rows: readonly Row[]): Row | undefined =>
  withinBytes(rows, NEIGHBOURS_BYTES, (bytes) => Math.min(bytes + ROW_LEAST_BYTES, ROW_MOST_BYTES)).at(-1)

/** Deletes rows and inserts them again: a page whose rows are all deleted is overwritten as a whole. */
function rewrite(database: Database, table: 'audit_event' | 'refused_delivery', after: number, last: number): void {
  const rows = database.all(`SELECT * FROM ${table} WHERE number > $1 AND number <= $2 ORDER BY number`, after, last)
  const names = Object.keys(rows[0] ?? {})
  database.run(`DELETE FROM ${table} WHERE number > $1 AND number <= $2`, after, last)
  const insert = `INSERT INTO ${table} (${names}) VALUES (${names.map((_, index) => `$${index + 1}`)})`
  for (const row of rows) database.run(insert, ...names.map((name) => row[name] as number | string | Uint8Array | null))
}

/** Run by the writer thread. Bodies are overwritten when they go, because an erasure must leave nothing of them. */
export const refusedWrites = {
  keep: (database, bodies, { mostBytes, notKept }) =>
    withSecureDelete(database, () => {
      const stored = bodies.filter((body) => {
        const { refusalId, at, customerId, keyId, orderId, errorCode, message, requestId, address, payload } = body
        const values = [keyId, orderId, errorCode, message, requestId, address, payload] as const
        return database.run(INSERT, refusalId, at, customerId, ...values) > 0
      })
      const added = stored.reduce((sum, { payload }) => sum + payload.length + ROW_BYTES, 0)
      const bytes = database.get(COUNT, added, 0, notKept)?.bytes as number
      if (bytes <= mostBytes) return 0
      const { freed, removed } = makeRoom(database, Math.min(bytes - mostBytes, added + FREED_AT_ONCE))
      database.run(COUNT, -freed, removed, 0)
      return removed
    }),

  /** Deletes fewer than `limit` if they are large, so that deliveries do not wait long. */
  deleteBefore: (database, before, limit) =>
    withSecureDelete(database, () => {
      const [, below] = refusalBounds({ to: before })
      const rows = withinBytes(database.all(EXPIRED, below, limit))
      if (rows.length > 0) database.run(COUNT, -remove(database, rows), 0, 0)
      return rows.length
    }),

  erase: (database, customerId, limit) =>
    withSecureDelete(database, () => {
      const found = database.all(OF_ONE, customerId, limit)
      const rows = withinBytes(found)
      if (rows.length > 0) database.run(COUNT, -remove(database, rows), 0, 0)
      const events = database.all(NAMED, customerId, limit)
      for (const { number } of events) database.run(FORGET_ORDER, number as number)
      return rows.length < found.length || found.length === limit || events.length === limit
    }),

  wipePages: (database, after) =>
    withSecureDelete(database, () => {
      if (after === 0) {
        const event = database.get('SELECT number FROM audit_event ORDER BY number LIMIT 1 OFFSET $1', FIRST_EVENTS)
        rewrite(database, 'audit_event', 0, Number(event?.number ?? Number.MAX_SAFE_INTEGER))
      }
      const last = withinBytes(database.all(SIZES_AFTER, after, AT_ONCE)).at(-1)?.number as number | undefined
      if (last === undefined) return null
      const again = lastNeighbour(database.all(SIZES_BEFORE, after, MOST_NEIGHBOURS))
      const beyond = lastNeighbour(database.all(SIZES_AFTER, last, MOST_NEIGHBOURS))
      rewrite(database, 'refused_delivery', Number(again?.number ?? after + 1) - 1, Number(beyond?.number ?? last))
      return last
    }),
} satisfies Operations<RefusedStore>

/** Run by the reader thread. */
export const refusedReads = {
  refusals(database, filter, { most, look }) {
    const { customerId = null, orderId = null, errorCode, requestId = null } = filter
    const whose = customerId === null ? OF_ALL : OF_CUSTOMER
    const [from, below] = refusalBounds(filter)
    const filters = [orderId, errorCode ?? null, codeInDetails(errorCode), requestId] as const
    const isFiltered = filters.some((value) => value !== null)
    const [last, more] = isFiltered ? database.all(FOUND_END(whose), customerId, from, below, look + 1, look - 1) : []
    const end = more === undefined ? null : (last?.refusal as string)
    const among = [customerId, end ?? from, below, isFiltered ? look : most + 1] as const
    return refusalPage(database.all(REFUSALS(whose), ...among, ...filters, most + 1), end, most)
  },

  list(database, { customerId = null, orderId = null, requestId = null, limit, ...range }) {
    const rows = database.all(LIST, ...refusalBounds(range), customerId, orderId, requestId, limit)
    return rows.map(refusedSummaryFromRow).reverse()
  },
} satisfies Operations<RefusedStore>

export function sqliteRefused(database: Database, writer: StoreThread, reader: StoreThread): RefusedStore {
  const { deleteBefore, ...writes } = sendOperations(refusedWrites, writer, 'refused')
  return {
    ...writes,
    ...sendOperations(refusedReads, reader, 'refused'),
    async deleteBefore(before, limit) {
      let deleted = 0
      for (;;) {
        const some = await deleteBefore(before, limit - deleted)
        deleted += some
        if (some === 0 || deleted === limit) return deleted
      }
    },
    async find(refusalId) {
      const row = database.get(`SELECT ${COLUMNS}, r.payload FROM ${FROM} WHERE r.refusal = $1`, refusalId)
      return row && refusedBodyFromRow(row)
    },
    idsWith: async (prefix, limit) =>
      database.all(IDS, prefix, `${prefix}${EVERY_ID}`, limit).map(({ refusal }) => refusal as string),
    async tally() {
      const row = database.get('SELECT *, (SELECT count(*) FROM refused_delivery) AS bodies FROM refused_tally') as Row
      return {
        bodies: row.bodies as number,
        bytes: row.bytes as number,
        removed: row.removed as number,
        notKept: row.not_kept as number,
      }
    },
  }
}
