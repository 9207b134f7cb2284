import { FREED_AT_ONCE, ROW_BYTES } from '#src/lib/refused-limits.ts'
import type { NewRefusedBody, RefusedBody, RefusedBodySummary, RefusedStore } from '../refused-store.ts'
import { shown } from './audit.ts'
import { type Dialect, LAST_ID, NO_LIMIT, type Range } from './dialect.ts'
import { ERASED_KEY, orderKey } from './order-key.ts'
import { newest, refusalBounds, refusalFromRow, refusalRanges, refusals } from './refusals.ts'
import { all, find, get, getAs, isThere, type Noun, type Row, run, type Value, type Work, walk, wipe } from './work.ts'

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

const BODY = `refusal text, at bigint, customer_id text, key_id text, order_id text, order_key bigint, error_code text, message text, \
request_id text, address text, payload bytea`

/** Stores nothing of an erased customer. In the order of the batch: the first that came goes first. */
const INSERT = (v: string): string => `
  INSERT INTO refused_delivery (refusal, at, customer_id, key_id, order_id, order_key, error_code, message, request_id, address, payload)
  SELECT refusal, at, customer_id, key_id, order_id, order_key, error_code, message, request_id, address, payload
    FROM ${v} WHERE (SELECT c.erased_at IS NULL FROM customer c WHERE c.id = v.customer_id)
  ON CONFLICT DO NOTHING
  RETURNING octet_length(payload) AS bytes`

const COLUMNS = `
  refusal, at, customer_id, key_id, (SELECT label FROM api_key WHERE id = key_id) AS key_label, order_id, error_code, message,
  request_id, address`

const FIND = `SELECT ${COLUMNS}, payload FROM refused_delivery WHERE refusal = $1`

const TALLY = `
  SELECT bytes, removed, not_kept, (SELECT count(*) FROM refused_delivery) AS bodies FROM refused_tally`

const IS_LEFT = 'SELECT 1 FROM refused_delivery WHERE customer_id = $1 LIMIT 1'

const AT_ONCE = 500
/** What one transaction may remove: large bodies have many pages. */
const REMOVED_BYTES = 4 * 1024 * 1024

export const refused = (dialect: Dialect): Noun<Omit<RefusedOperations, 'wipePages'>> => {
  const { along, among, oneOf, batch, inOrder, pick } = dialect
  const { ofCustomer, whose } = refusalRanges(dialect)
  const insert = batch(BODY, INSERT)

  const LIST = (of: Range): string => `
    SELECT ${COLUMNS}, octet_length(payload) AS payload_bytes
      FROM ${inOrder('refused_delivery', of)} r
     WHERE (order_id = $4 OR $4 IS NULL) AND (request_id = $5 OR $5 IS NULL)
     ORDER BY ${of.order} LIMIT $6`

  /** Removes bodies as long as those before them have fewer bytes. They go in the order in which they came: a clock may have been wrong. */
  const REMOVE = (which: string, limit: string, bytes: string): string => `
    DELETE FROM refused_delivery
     WHERE number ${oneOf(`
       SELECT number
         FROM (SELECT number, sum(bytes) OVER (ORDER BY number) - bytes AS before
                 FROM (SELECT number, octet_length(payload) + ${ROW_BYTES} AS bytes
                         FROM refused_delivery ${which} LIMIT ${limit}) looked) summed
        WHERE before < ${bytes}`)}
    RETURNING octet_length(payload) AS bytes`
  const REMOVE_FIRST = REMOVE('ORDER BY number', '$1', '$2')
  const REMOVE_EXPIRED = REMOVE('WHERE refusal < $1 ORDER BY refusal', '$2', '$3')
  const REMOVE_OF_ONE = REMOVE(`WHERE ${ofCustomer.range} ORDER BY ${ofCustomer.order}`, '$4', '$5')

  const REMOVE_NAMED = `DELETE FROM refused_delivery WHERE refusal ${among('$1')} RETURNING octet_length(payload) AS bytes`

  const NAMING = `(${shown('order_id')} IS NOT NULL OR actor = 'api' AND ${shown('request_id')} IS NOT NULL)`
  const naming: Range = {
    range: `${along('customer_id', 'at, number', '0, 0', `${NO_LIMIT}, 0`)} AND customer_id IS NOT NULL AND ${NAMING}`,
    order: 'customer_id DESC, at DESC, number DESC',
  }
  // Text of the same size is written over the former one, in place. Otherwise SQLite would move rows and leave copies behind.
  const erased = (column: string, of = 'true'): string =>
    pick({
      sqlite: `CASE WHEN ${column} IS NOT NULL AND ${of} THEN replace(hex(zeroblob(length(CAST(${column} AS BLOB)))), '00', '-')
                    ELSE ${column} END`,
      postgres: `CASE WHEN NOT ${of} THEN ${column} END`,
    })
  /** Whoever sends a request chooses its id: of operators' requests it stays. */
  const FORGET_NAMES = `
    UPDATE audit_event
       SET order_id = ${erased('order_id')}, request_id = ${erased('request_id', "(actor = 'api')")},
           order_key = ${pick({ sqlite: `CASE WHEN order_key IS NOT NULL THEN ${ERASED_KEY} END`, postgres: 'NULL' })}
     WHERE number ${oneOf(newest('audit_event', naming, 'number', '$2'))}`

  return {
    refusals: refusals(dialect),
    list: walk(function* ({ customerId = null, orderId = null, requestId = null, limit, ...range }) {
      const rows = yield* all(LIST(whose(customerId)), customerId, ...refusalBounds(range), orderId, requestId, limit)
      return rows.map(summaryFromRow).reverse()
    }),
    find: find((refusalId) => getAs(bodyFromRow, FIND, refusalId)),
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
    keep: wipe(function* (bodies, { maxBytes, notKept }) {
      yield* count(0, 0, notKept)
      const added = sizeOf(yield* insert(bodies.map(valuesOf)))
      const bytes = yield* count(added, 0, 0)
      let removed = 0
      for (let toFree = Math.min(bytes - maxBytes, added + FREED_AT_ONCE); toFree > 0; ) {
        const gone = yield* all(REMOVE_FIRST, AT_ONCE, toFree)
        if (gone.length === 0) break
        removed += gone.length
        toFree -= sizeOf(gone)
        yield* count(-sizeOf(gone), gone.length, 0)
      }
      return removed
    }),
    deleteSome: wipe((before, limit) => remove(REMOVE_EXPIRED, refusalBounds({ to: before })[1], limit, REMOVED_BYTES)),
    remove: wipe((refusalIds) => remove(REMOVE_NAMED, refusalIds)),
    erase: wipe(function* (customerId, limit) {
      const among = [customerId, '', LAST_ID, limit] as const
      yield* remove(REMOVE_OF_ONE, ...among, REMOVED_BYTES)
      const forgotten = yield* run(FORGET_NAMES, customerId, limit)
      return (yield* isThere(IS_LEFT, customerId)) || forgotten === limit
    }),
  }
}

function* count(bytes: number, removed: number, notKept: number): Work<number> {
  return Number((yield* get(COUNT, bytes, removed, notKept))?.bytes)
}

/** Runs with the lock on the tally. Returns how many bodies the statement removed. */
function* remove(sql: string, ...values: readonly Value[]): Work<number> {
  yield* count(0, 0, 0)
  const gone = yield* all(sql, ...values)
  if (gone.length > 0) yield* count(-sizeOf(gone), 0, 0)
  return gone.length
}

const sizeOf = (rows: readonly Row[]): number => rows.reduce((sum, { bytes }) => sum + Number(bytes) + ROW_BYTES, 0)

const valuesOf = (body: NewRefusedBody) => {
  const { refusalId, at, customerId, keyId, orderId, errorCode, message, requestId, address, payload } = body
  const key = orderId === null ? null : orderKey(orderId)
  const told = JSON.stringify(message)
  return [refusalId, at, customerId, keyId, orderId, key, errorCode, told, requestId, address, payload]
}

function summaryFromRow(row: Row): RefusedBodySummary {
  const { reason: _, ...summary } = refusalFromRow(row)
  return summary as RefusedBodySummary
}

function bodyFromRow(row: Row): RefusedBody {
  const { payloadBytes: _, ...body } = summaryFromRow({ ...row, payload_bytes: 0 })
  return { ...body, payload: row.payload as Uint8Array }
}
