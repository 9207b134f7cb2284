import { hash } from 'node:crypto'
import { BLOCK_SIZE } from '#src/store/shared/blocks.ts'
import { withoutSender } from '#src/store/shared/origins.ts'
import type { PurgedPage, PurgeStore } from '#src/store/store.ts'
import { type Database, type Row, withSecureDelete } from '../database.ts'
import { emptyLog } from '../empty-log.ts'
import type { Operations } from '../thread/operations.ts'
import { type ExpiredOrder, withinBytes } from './reads.ts'

const ANNOUNCE = 'UPDATE purge SET generation = generation + 1, announced = max(announced, $1)'
const REMOVED = 'UPDATE purge SET position = max(position, $1)'

/** Times that lie too far ahead come from a clock that was wrong. */
const CLAIM = `
  UPDATE purge SET leased_until = $1
   WHERE (leased_until < $2 OR leased_until > $1 + ($1 - $2)) AND (done_before < $3 OR done_before > $2)`

const DELETE_ORDER = `
  DELETE FROM order_state WHERE customer = $1 AND order_id = $2 AND latest_position = $3`

const DELETE = `
  DELETE FROM delivery WHERE position IN (SELECT value FROM json_each($1)) RETURNING position, length(payload) AS bytes`

/** Keys are as old as their deliveries, and numbered in that order. */
const DELETE_KEYS = `
  DELETE FROM idempotency
   WHERE number IN (SELECT number FROM idempotency ORDER BY number LIMIT $1) AND kept_at < $2`

/**
 * Deletes blocks of positions that are empty now, and the lowest one, which may have stayed before. The last block stays, because
 * the next one comes after it.
 */
const DELETE_BLOCKS = `
  DELETE FROM delivery_block
   WHERE block IN (
     SELECT value FROM (SELECT value FROM json_each($1) UNION SELECT min(block) FROM delivery_block)
      WHERE (SELECT min(position) FROM delivery WHERE position >= value * ${BLOCK_SIZE}) >= (value + 1) * ${BLOCK_SIZE})
     AND block < (SELECT max(block) FROM delivery_block)`

/** Deletes what only older blocks had. */
const DELETE_LISTS = 'DELETE FROM block_customers WHERE block < (SELECT min(block) FROM delivery_block)'

/** Values of the same size are written over the former ones, in place. Otherwise SQLite would move rows and leave copies behind. */
const ERASE = `
  UPDATE delivery SET order_id = $1, payload = $2, origin = $3 WHERE position = $4`

const FIND = 'SELECT order_id, payload, origin FROM delivery WHERE position = $1'

const ROWS = 'SELECT * FROM delivery WHERE position > $1 AND position <= $2 ORDER BY position'
const SIZES_BEFORE = `
  SELECT position, length(payload) AS bytes FROM delivery WHERE position <= $1 ORDER BY position DESC LIMIT $2`
const SIZES_AFTER = `
  SELECT position, length(payload) AS bytes FROM delivery WHERE position > $1 ORDER BY position LIMIT $2`

const INSERT = `
  INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, echo_of, previous, payload, origin)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

/** SQLite balances up to three neighbouring pages. */
const NEIGHBOURS_BYTES = 4 * 4096
/** More rows than as many bytes can hold. */
const MOST_IN_PAGES = 400
/** Of a larger payload, SQLite keeps at least this much with the row, and the rest in pages of its own. */
const LOCAL_BYTES = 480

/** Returns the rows that stand in the first few pages. */
const pagesOf = (rows: readonly Row[]): readonly Row[] =>
  withinBytes(rows, NEIGHBOURS_BYTES, (bytes) => Math.min(bytes, LOCAL_BYTES))

/** Returns valid JSON of the same length, because programs before `erased_at` show it: with the digest, where it fits. */
function blank(payload: Uint8Array): Buffer {
  const digest = `{"SHA256":"${hash('sha256', payload, 'hex')}"}`
  return Buffer.from((digest.length <= payload.length ? digest : '{}').padEnd(payload.length))
}

const isBlank = (payload: Uint8Array): boolean =>
  /^\{(?:"SHA256":"[0-9a-f]{64}")?\} *$/.test(Buffer.from(payload).toString('latin1'))

const NAMES_AT_ONCE = 500
const PAGES_AT_ONCE = 100

export interface Removal {
  readonly positions: readonly number[]
  readonly orders: readonly ExpiredOrder[]
  readonly before: number
}

interface PurgeWrites extends Omit<PurgeStore, 'erase'> {
  /** Removes what a page found, unless an order got a delivery since. */
  remove(removal: Removal): Promise<Omit<PurgedPage, 'position'>>
  erase(positions: readonly number[]): Promise<number>
}

/** Runs a transaction, because only those wait long enough for the lock of a server. Returns whether it changed something. */
const change = (database: Database, sql: string, ...values: number[]): boolean =>
  database.transaction(() => database.run(sql, ...values) > 0)

/** Run by the writer thread. */
export const purgeWrites = {
  announce: (database, position) => void change(database, ANNOUNCE, position),

  announceErasure: (database) => void change(database, 'UPDATE purge SET erasures = erasures + 1'),

  claim: (database, { now, until, due }) => change(database, CLAIM, until, now, due),

  renew: (database, from, until) =>
    change(database, 'UPDATE purge SET leased_until = $1 WHERE leased_until = $2', until, from),

  finish: (database, before) => void change(database, 'UPDATE purge SET done_before = $1, leased_until = 0', before),

  giveBack(database, keepPart) {
    const { auto_vacuum: mode } = database.get('PRAGMA auto_vacuum') as Row
    if (mode === 0) return false
    const free = Number(database.get('PRAGMA freelist_count')?.freelist_count)
    const least = Math.floor(Number(database.get('PRAGMA page_count')?.page_count) * keepPart)
    const pages = Math.min(PAGES_AT_ONCE, free - least)
    if (pages > 0) database.transaction(() => database.script(`PRAGMA incremental_vacuum(${pages})`))
    return free - PAGES_AT_ONCE > least
  },

  rewrite: (database) => database.script('PRAGMA auto_vacuum = INCREMENTAL; VACUUM'),

  eraseNames: (database, customerId) =>
    withSecureDelete(database, () => {
      const number = database.get('SELECT number FROM customer WHERE id = $1', customerId)?.number as number
      const deleted = NAMES.map((sql) => database.run(sql, number, NAMES_AT_ONCE))
      return deleted.includes(NAMES_AT_ONCE)
    }),

  wipePages: (database, after, look) =>
    withSecureDelete(database, () => {
      const purged = database.get('SELECT position FROM purge')?.position as number
      if (after >= purged) return null
      // A page whose rows are all deleted is overwritten as a whole. The next call deletes the last rows again, so that it also
      // reaches the pages at the end of this one.
      const again = pagesOf(database.all(SIZES_BEFORE, after, MOST_IN_PAGES)).at(-1)
      const some = withinBytes(database.all(SIZES_AFTER, after, look))
      const next = Number(some.at(-1)?.position ?? after)
      const beyond = pagesOf(database.all(SIZES_AFTER, next, MOST_IN_PAGES)).at(-1)
      const [from, last] = [Number(again?.position ?? after + 1) - 1, Number(beyond?.position ?? next)]
      const rows = database.all(ROWS, from, last)
      database.run('DELETE FROM delivery WHERE position > $1 AND position <= $2', from, last)
      for (const row of rows)
        database.run(INSERT, ...COLUMNS.map((name) => row[name] as number | string | Uint8Array | null))
      return next > after ? next : null
    }),

  wipeLog: (database) => (emptyLog(database) ? undefined : 'another process reads the log'),

  remove: (database, { positions, orders, before }) =>
    database.transaction(() => {
      const gone = orders.filter((each) => database.run(DELETE_ORDER, each.customer, each.orderId, each.latest) > 0)
      const all = [...positions, ...gone.flatMap(({ state, latest }) => [state, latest])]
      const rows = database.all(DELETE, JSON.stringify(all))
      database.run(DELETE_KEYS, 2 * all.length, before)
      const blocks = new Set(rows.map(({ position }) => Math.floor((position as number) / BLOCK_SIZE)))
      if (database.run(DELETE_BLOCKS, JSON.stringify([...blocks])) > 0) database.run(DELETE_LISTS)
      database.run(REMOVED, Math.max(0, ...rows.map(({ position }) => position as number)))
      return {
        deliveries: rows.length,
        orders: gone.length,
        payloadBytes: rows.reduce((sum, { bytes }) => sum + (bytes as number), 0),
      }
    }),

  erase: (database, positions) =>
    withSecureDelete(database, () => {
      let erased = 0
      for (const position of positions) {
        const { order_id: orderId = null, payload, origin = null } = database.get(FIND, position) ?? {}
        if (!(payload instanceof Uint8Array)) continue
        const left = origin === null ? null : withoutSender(origin as Uint8Array)
        // A version before 0011 erases only the payload and the order id.
        if (isBlank(payload) && (left === null || Buffer.compare(left, origin as Uint8Array) === 0)) continue
        const dashes = orderId === null ? null : '-'.repeat(Buffer.byteLength(orderId as string))
        database.run(ERASE, dashes, isBlank(payload) ? payload : blank(payload), left, position)
        erased++
      }
      return erased
    }),
} satisfies Operations<PurgeWrites>

const COLUMNS = [
  'position',
  'receipt',
  'customer',
  'order_id',
  'status',
  'received_at',
  'echo_of',
  'previous',
  'payload',
  'origin',
]

const NAMES = [
  `DELETE FROM order_state
    WHERE customer = $1 AND order_id IN (SELECT order_id FROM order_state WHERE customer = $1 LIMIT $2)`,
  'DELETE FROM idempotency WHERE number IN (SELECT number FROM idempotency WHERE customer = $1 LIMIT $2)',
  'DELETE FROM webhook_attempt WHERE number IN (SELECT number FROM webhook_attempt WHERE customer = $1 LIMIT $2)',
]
