import { hash } from 'node:crypto'
import type { PurgedPage, PurgeStore } from '#src/store/store.ts'
import { type Row, withSecureDelete } from '../database.ts'
import type { Operations } from '../thread/operations.ts'
import { type ExpiredOrder, STATE, stateFromRow } from './reads.ts'

const ANNOUNCE = `
  UPDATE purge SET generation = generation + 1, position = max(position, $1) RETURNING generation`

const DELETE_ORDER = `
  DELETE FROM order_state WHERE customer = $1 AND order_id = $2 AND latest_position = $3`

const DELETE = `
  DELETE FROM delivery WHERE position IN (SELECT value FROM json_each($1)) RETURNING position, length(payload) AS bytes`

/** Keys are as old as their deliveries, and numbered in that order. */
const DELETE_KEYS = `
  DELETE FROM idempotency
   WHERE number IN (SELECT number FROM idempotency ORDER BY number LIMIT $1) AND kept_at < $2`

const ERASE = `
  UPDATE delivery SET order_id = NULL, payload = $1, erased = $2 WHERE position = $3`

/** Valid JSON, which programs before the column `erased` can show. */
const NOTHING = Buffer.from('{}')

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
  erase(positions: readonly number[]): Promise<void>
}

/** Run by the writer thread. */
export const purgeWrites = {
  announce: (database, position) =>
    database.transaction(() => {
      const before = stateFromRow(database.get(STATE) as Row)
      return { before, generation: database.get(ANNOUNCE, position)?.generation as number }
    }),

  settle: (database, { generation, position }) =>
    void database.run('UPDATE purge SET position = $1 WHERE generation = $2', position, generation),

  claim: (database, { now, until, due }) =>
    database.run('UPDATE purge SET leased_until = $1 WHERE leased_until < $2 AND done_before < $3', until, now, due) >
    0,

  renew: (database, from, until) =>
    database.run('UPDATE purge SET leased_until = $1 WHERE leased_until = $2', until, from) > 0,

  finish: (database, before) =>
    void database.run('UPDATE purge SET done_before = max(done_before, $1), leased_until = 0', before),

  giveBack(database, keepPart) {
    const { auto_vacuum: mode } = database.get('PRAGMA auto_vacuum') as Row
    if (mode === 0) return false
    const free = Number(database.get('PRAGMA freelist_count')?.freelist_count)
    const least = Math.floor(Number(database.get('PRAGMA page_count')?.page_count) * keepPart)
    if (free > least) database.script(`PRAGMA incremental_vacuum(${Math.min(PAGES_AT_ONCE, free - least)})`)
    return free - PAGES_AT_ONCE > least
  },

  rewrite: (database) => database.script('PRAGMA auto_vacuum = INCREMENTAL; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)'),

  eraseNames: (database, customerId) =>
    withSecureDelete(database, () => {
      const number = database.get('SELECT number FROM customer WHERE id = $1', customerId)?.number as number
      const deleted = NAMES.map((sql) => database.run(sql, number, NAMES_AT_ONCE))
      return deleted.includes(NAMES_AT_ONCE)
    }),

  wipeLog(database) {
    const { busy } = database.get('PRAGMA wal_checkpoint(TRUNCATE)') as Row
    return busy === 0 ? undefined : 'another process reads the log'
  },

  remove: (database, { positions, orders, before }) =>
    database.transaction(() => {
      const gone = orders.filter((each) => database.run(DELETE_ORDER, each.customer, each.orderId, each.latest) > 0)
      const all = [...positions, ...gone.flatMap(({ state, latest }) => [state, latest])]
      const rows = database.all(DELETE, JSON.stringify(all))
      database.run(DELETE_KEYS, 2 * all.length, before)
      return {
        deliveries: rows.length,
        orders: gone.length,
        payloadBytes: rows.reduce((sum, { bytes }) => sum + (bytes as number), 0),
        highest: rows.reduce((most, { position }) => Math.max(most, position as number), 0),
      }
    }),

  erase: (database, positions) =>
    withSecureDelete(database, () => {
      for (const position of positions) {
        const row = database.get('SELECT payload FROM delivery WHERE position = $1', position)
        if (row === undefined) continue
        const digest = Buffer.from(hash('sha256', row.payload as Uint8Array, 'hex'), 'hex')
        database.run(ERASE, NOTHING, digest, position)
      }
    }),
} satisfies Operations<PurgeWrites>

const NAMES = [
  `DELETE FROM order_state
    WHERE customer = $1 AND order_id IN (SELECT order_id FROM order_state WHERE customer = $1 LIMIT $2)`,
  'DELETE FROM idempotency WHERE number IN (SELECT number FROM idempotency WHERE customer = $1 LIMIT $2)',
]
