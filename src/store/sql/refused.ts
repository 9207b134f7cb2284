import { FREED_AT_ONCE, ROW_BYTES } from '#src/lib/refused-limits.ts'
import type {
  NewRefusedBody,
  Refusal,
  RefusalRange,
  RefusedBody,
  RefusedBodySummary,
  RefusedStore,
} from '../refused-store.ts'
import { firstReceiptOf, uuidFrom } from '../shared/uuid.ts'
import { NO_LIMIT } from '../shared/walks.ts'
import { shownOrder } from './audit.ts'
import type { Dialect } from './dialect.ts'
import { all, find, get, type Noun, type Row, run, type Work, walk, wipe } from './work.ts'

export interface RefusedOperations extends Omit<RefusedStore, 'deleteBefore'> {
  /** Does what `deleteBefore` does, but removes fewer if they are large, so that deliveries do not wait long. */
  deleteSome(before: number, limit: number): Promise<number>
}

export const refusedStore = ({ deleteSome, ...rest }: RefusedOperations): RefusedStore => ({
  ...rest,
  async deleteBefore(before, limit) {
    let deleted = 0
    for (;;) {
      const some = await deleteSome(before, limit - deleted)
      deleted += some
      if (some === 0 || deleted === limit) return deleted
    }
  },
})

/** Locks the only row, so that replicas keep and remove bodies one after the other. */
const COUNT = `
  UPDATE refused_tally SET bytes = bytes + $1, removed = removed + $2, not_kept = not_kept + $3 RETURNING bytes`

const BODY = `refusal text, at bigint, customer_id text, key_id text, order_id text, error_code text, message text, \
request_id text, address text, payload bytea`

/** Stores nothing of an erased customer. In the order of the batch: the first that came goes first. */
const INSERT = (v: string): string => `
  INSERT INTO refused_delivery (refusal, at, customer_id, key_id, order_id, error_code, message, request_id, address, payload)
  SELECT refusal, at, customer_id, key_id, order_id, error_code, message, request_id, address, payload
    FROM ${v} WHERE (SELECT c.erased_at IS NULL FROM customer c WHERE c.id = v.customer_id)
  ON CONFLICT DO NOTHING
  RETURNING octet_length(payload) AS bytes`

const COLUMNS = `
  refusal, at, customer_id, key_id, (SELECT label FROM api_key WHERE id = key_id) AS label, order_id, error_code, message,
  request_id, address`

const FIND = `SELECT ${COLUMNS}, payload FROM refused_delivery WHERE refusal = $1`

const IDS = 'SELECT refusal FROM refused_delivery WHERE refusal >= $1 AND refusal < $2 ORDER BY refusal LIMIT $3'

const TALLY = `
  SELECT bytes, removed, not_kept, (SELECT count(*) FROM refused_delivery) AS bodies FROM refused_tally`

const IS_LEFT = 'SELECT 1 FROM refused_delivery WHERE customer_id = $1 LIMIT 1'

const AT_ONCE = 500
/** What one transaction may remove: large bodies have many pages. */
const REMOVED_BYTES = 4 * 1024 * 1024
/** Sorts after every id. */
const EVERY_ID = 'g'

export const refused = (dialect: Dialect): Noun<Omit<RefusedOperations, 'wipePages'>> => {
  const { along, amongRows, batch, contains, inOrder, joinOne, pick } = dialect
  const insert = batch(BODY, INSERT)

  /** The refusals of customer `$1`, or of all if it is NULL, from `$2` on and before `$3`. */
  const OF_CUSTOMER = {
    range: `${along('customer_id', 'refusal', '$2', '$3')} AND refusal IS NOT NULL`,
    order: 'customer_id DESC, refusal DESC',
  }
  const OF_ALL = {
    range: `coalesce($1, '') = '' AND refusal >= $2 AND refusal < $3 AND refusal IS NOT NULL`,
    order: 'refusal DESC',
  }
  const whose = (customerId: string | null) => (customerId === null ? OF_ALL : OF_CUSTOMER)
  type Whose = typeof OF_ALL

  /** PostgreSQL must not know this limit: without statistics it would rather sort all refusals than walk to a limit of hundreds. */
  const NEWEST = (table: string, { range, order }: Whose, column: string, limit: string): string => `
    SELECT ${column} FROM ${table} WHERE ${range} ORDER BY ${order} LIMIT (SELECT CAST(${limit} AS bigint))`
  /** The newest refusals in the audit log and among the bodies. */
  const FOUND = (of: Whose): string => `
    SELECT * FROM (${NEWEST('audit_event', of, 'refusal', '$4')}) logged
     UNION
    SELECT * FROM (${NEWEST('refused_delivery', of, 'refusal', '$4')}) kept`
  /** Finds the last refusal to look at, and the next one if there is one. */
  const FOUND_END = (of: Whose): string => `
    SELECT refusal FROM (${FOUND(of)}) found ORDER BY refusal DESC LIMIT 2 OFFSET $5`
  const ORDER = `coalesce(${shownOrder(dialect, 'a.order_id')}, r.order_id)`
  const REFUSALS = (of: Whose): string => `
    SELECT f.refusal, coalesce(a.at, r.at) AS at, coalesce(a.customer_id, r.customer_id) AS customer_id,
           coalesce(a.key_id, r.key_id) AS key_id, (SELECT label FROM api_key WHERE id = coalesce(a.key_id, r.key_id)) AS label,
           ${ORDER} AS order_id, a.details, r.error_code, r.message, coalesce(a.request_id, r.request_id) AS request_id,
           octet_length(r.payload) AS payload_bytes
      FROM (SELECT refusal FROM (${FOUND(of)}) found ORDER BY refusal DESC LIMIT $4) f
           ${joinOne('audit_event', 'a', 'a.refusal = f.refusal AND a.refusal IS NOT NULL')}
           ${joinOne('refused_delivery', 'r', 'r.refusal = f.refusal')}
     WHERE (${ORDER} = $5 OR $5 IS NULL)
       AND (r.error_code = $6 OR r.error_code IS NULL AND ${contains('a.details', '$7')} OR $6 IS NULL)
       AND (coalesce(a.request_id, r.request_id) = $8 OR $8 IS NULL)
     ORDER BY f.refusal DESC LIMIT $9`

  const LIST = (of: Whose): string => `
    SELECT ${COLUMNS}, octet_length(payload) AS payload_bytes
      FROM ${inOrder('refused_delivery', of)} r
     WHERE (order_id = $4 OR $4 IS NULL) AND (request_id = $5 OR $5 IS NULL)
     ORDER BY ${of.order} LIMIT $6`

  /** Removes bodies as long as those before them have fewer bytes. They go in the order in which they came: a clock may have been wrong. */
  const REMOVE = (which: string, limit: string, bytes: string): string => `
    DELETE FROM refused_delivery
     WHERE number ${amongRows(`
       SELECT number
         FROM (SELECT number, sum(bytes) OVER (ORDER BY number) - bytes AS before
                 FROM (SELECT number, octet_length(payload) + ${ROW_BYTES} AS bytes
                         FROM refused_delivery ${which} LIMIT ${limit}) looked) summed
        WHERE before < ${bytes}`)}
    RETURNING octet_length(payload) AS bytes`
  const REMOVE_FIRST = REMOVE('ORDER BY number', '$1', '$2')
  const REMOVE_EXPIRED = REMOVE('WHERE refusal < $1 ORDER BY refusal', '$2', '$3')
  const REMOVE_OF_ONE = REMOVE(`WHERE ${OF_CUSTOMER.range} ORDER BY ${OF_CUSTOMER.order}`, '$4', '$5')

  const FORGET_ORDERS = `
    UPDATE audit_event SET order_id = ${pick({
      // Text of the same size is written over the former one, in place. Otherwise SQLite would move rows and leave copies behind.
      sqlite: `replace(hex(zeroblob(length(CAST(order_id AS BLOB)))), '00', '-')`,
      postgres: 'NULL',
    })}
     WHERE number ${amongRows(
       NEWEST(
         'audit_event',
         { ...OF_CUSTOMER, range: `${OF_CUSTOMER.range} AND ${shownOrder(dialect, 'order_id')} IS NOT NULL` },
         'number',
         '$4',
       ),
     )}`

  return {
    refusals: walk(function* (filter, { most, look }) {
      const { customerId = null, orderId = null, errorCode, requestId = null } = filter
      const of = whose(customerId)
      const [from, below] = boundsOf(filter)
      const filters = [orderId, errorCode ?? null, codeInDetails(errorCode), requestId] as const
      const isFiltered = filters.some((value) => value !== null)
      const [last, more] = isFiltered ? yield* all(FOUND_END(of), customerId, from, below, look + 1, look - 1) : []
      const end = more === undefined ? null : (last?.refusal as string)
      // Without a limit where filters are: what comes meanwhile must not push out what stands before the end.
      const among = [customerId, end ?? from, below, isFiltered ? NO_LIMIT : most + 1] as const
      const rows = yield* all(REFUSALS(of), ...among, ...filters, most + 1)
      const refusals = rows.slice(0, most).map(refusalFromRow)
      return { refusals, next: rows.length > most ? (refusals.at(-1)?.refusalId ?? null) : end }
    }),
    list: walk(function* ({ customerId = null, orderId = null, requestId = null, limit, ...range }) {
      const rows = yield* all(LIST(whose(customerId)), customerId, ...boundsOf(range), orderId, requestId, limit)
      return rows.map(summaryFromRow).reverse()
    }),
    find: find(function* (refusalId) {
      const row = yield* get(FIND, refusalId)
      return row && bodyFromRow(row)
    }),
    idsWith: find(function* (prefix, limit) {
      return (yield* all(IDS, prefix, `${prefix}${EVERY_ID}`, limit)).map(({ refusal }) => refusal as string)
    }),
    tally: find(function* () {
      const row = (yield* get(TALLY)) as Row
      return {
        bodies: Number(row.bodies),
        bytes: Number(row.bytes),
        removed: Number(row.removed),
        notKept: Number(row.not_kept),
      }
    }),
    // Bodies are overwritten when they go, because an erasure must leave nothing of them.
    keep: wipe(function* (bodies, { mostBytes, notKept }) {
      yield* count(0, 0, notKept)
      const added = sizeOf(yield* insert(bodies.map(valuesOf)))
      const bytes = yield* count(added, 0, 0)
      let removed = 0
      for (let toFree = Math.min(bytes - mostBytes, added + FREED_AT_ONCE); toFree > 0; ) {
        const gone = yield* all(REMOVE_FIRST, AT_ONCE, toFree)
        if (gone.length === 0) break
        removed += gone.length
        toFree -= sizeOf(gone)
        yield* count(-sizeOf(gone), gone.length, 0)
      }
      return removed
    }),
    deleteSome: wipe((before, limit) => remove(REMOVE_EXPIRED, boundsOf({ to: before })[1], limit, REMOVED_BYTES)),
    erase: wipe(function* (customerId, limit) {
      const among = [customerId, '', EVERY_ID, limit] as const
      yield* remove(REMOVE_OF_ONE, ...among, REMOVED_BYTES)
      const forgotten = yield* run(FORGET_ORDERS, ...among)
      return (yield* get(IS_LEFT, customerId)) !== undefined || forgotten === limit
    }),
  }
}

function* count(bytes: number, removed: number, notKept: number): Work<number> {
  return Number((yield* get(COUNT, bytes, removed, notKept))?.bytes)
}

/** Runs with the lock on the tally. Returns how many bodies the statement removed. */
function* remove(sql: string, ...values: (string | number)[]): Work<number> {
  yield* count(0, 0, 0)
  const gone = yield* all(sql, ...values)
  if (gone.length > 0) yield* count(-sizeOf(gone), 0, 0)
  return gone.length
}

const sizeOf = (rows: readonly Row[]): number => rows.reduce((sum, { bytes }) => sum + Number(bytes) + ROW_BYTES, 0)

const valuesOf = (body: NewRefusedBody) => {
  const { refusalId, at, customerId, keyId, orderId, errorCode, message, requestId, address, payload } = body
  return [refusalId, at, customerId, keyId, orderId, errorCode, message, requestId, address, payload]
}

/** Returns the smallest id that a range includes, and the smallest one above it, for a comparison of texts. */
function boundsOf(range: RefusalRange & { readonly idPrefix?: string | undefined }): [string, string] {
  const { before = EVERY_ID, from, to, idPrefix = '' } = range
  const first = from === undefined ? '' : firstIdOf(from)
  const end = to === undefined ? EVERY_ID : firstIdOf(to)
  return [larger(idPrefix, first), smaller(smaller(before, end), `${idPrefix}${EVERY_ID}`)]
}

const larger = (one: string, other: string): string => (one > other ? one : other)
const smaller = (one: string, other: string): string => (one < other ? one : other)

/** The beginning of every id of a time. */
const firstIdOf = (time: number): string => uuidFrom(firstReceiptOf(time)).slice(0, 13)

/** Reads a row with `details` of an audit event, or with the columns of a kept body, or with both. */
function refusalFromRow(row: Row): Refusal {
  const { errorCode, message } = JSON.parse((row.details as string | null) ?? '{}')
  return {
    refusalId: row.refusal as string,
    at: row.at as number,
    customerId: row.customer_id as string | null,
    keyId: row.key_id as string | null,
    keyLabel: row.label as string | null,
    orderId: row.order_id as string | null,
    errorCode: (row.error_code as string | null) ?? errorCode,
    message: (row.message as string | null) ?? message ?? '',
    requestId: row.request_id as string | null,
    payloadBytes: row.payload_bytes as number | null,
  }
}

/** The text that `details` of an audit event has for an error code. A quotation mark within another value has a backslash. */
const codeInDetails = (errorCode: string | undefined): string | null =>
  errorCode === undefined ? null : `"errorCode":${JSON.stringify(errorCode)}`

const summaryFromRow = (row: Row): RefusedBodySummary => ({
  ...(refusalFromRow(row) as Omit<RefusedBodySummary, 'address'>),
  address: row.address as string,
})

function bodyFromRow(row: Row): RefusedBody {
  const { payloadBytes: _, ...body } = summaryFromRow({ ...row, payload_bytes: 0 })
  return { ...body, payload: row.payload as Uint8Array }
}
