import type { ErasureScope, PurgeStore } from '../store.ts'
import { bumpAccountVersion, NUMBER } from './customers.ts'
import type { Dialect } from './dialect.ts'
import { type Found, foundFromRow, lookWithinBytes } from './purge-page.ts'
import { all, get, type Noun, type Row, run, snapshot, wipe, write } from './work.ts'

/** What is to be erased of some deliveries. */
interface Erasable {
  readonly keys: string
  readonly positions: readonly number[]
  /** Also of those that were erased before. */
  readonly allPositions: readonly number[]
}

export interface ErasureSteps extends Pick<PurgeStore, 'announceErasure' | 'eraseNames'> {
  /** Finds what is to be erased of a customer among the next deliveries. */
  ofCustomer(customerId: string, after: number, look: number): Promise<Found & { readonly count: number }>
  findErasable(scope: ErasureScope): Promise<Erasable>
  /** Removes attempts to push deliveries. */
  forgetAttempts(customerId: string, positions: readonly number[]): Promise<void>
}

const ANNOUNCE = 'UPDATE purge SET erasures = erasures + 1'

const NAMES_AT_ONCE = 500

export const erasures = ({ list, each, one, oneOf, pick, requireErasing, rows }: Dialect): Noun<ErasureSteps> => {
  const KEY = pick({ sqlite: 'position', postgres: 'receipt' })
  const OF_CUSTOMER = `
    SELECT max(position) AS last, sum(bytes) AS total_bytes, count(*) FILTER (WHERE found) AS count, ${list('key', 'found')} AS keys
      FROM (SELECT position, ${KEY} AS key, octet_length(payload) AS bytes, customer = ${NUMBER} AS found
              FROM delivery WHERE position > $2 ORDER BY position LIMIT $3) page`
  const ERASABLE = `
    SELECT d.position, d.${KEY} AS key, d.erased
      FROM ${each('$1', 'w', 'integer')} ${one('delivery', 'd', 'd.position = w.value')}
     WHERE coalesce(d.echo_of, d.position) = (SELECT coalesce(f.echo_of, f.position) FROM delivery f WHERE f.position = $2 LIMIT 1)
        OR $2 IS NULL`
  const keyList = pick({
    sqlite: (keys: readonly unknown[]) => JSON.stringify(keys),
    postgres: (keys: readonly unknown[]) => `{${keys.join()}}`,
  })
  const FORGET_ATTEMPTS = `
    DELETE FROM webhook_attempt
     WHERE customer = ${NUMBER} AND position ${oneOf(`SELECT value FROM ${each('$2', 'w', 'integer')}`)}`
  const ERASE_NAME = (table: string, key: string): string => `
    DELETE FROM ${table}
     WHERE ${rows(key, (columns) => `SELECT ${columns} FROM ${table} WHERE customer = ${NUMBER} LIMIT $2`)}`
  const ERASE_NAMES = [
    ERASE_NAME('order_state', 'customer, order_id'),
    ERASE_NAME('idempotency', 'number'),
    ERASE_NAME('webhook_attempt', 'number'),
  ]

  return {
    announceErasure: write(function* () {
      // What was read before the erasure may be kept with the accounts, as the newest deliveries of the console are.
      yield* bumpAccountVersion()
      yield* run(ANNOUNCE)
    }),
    ofCustomer: snapshot(function* (customerId, after, look) {
      yield* requireErasing()
      const row = yield* lookWithinBytes(look, (look) => get(OF_CUSTOMER, customerId, after, look))
      return { ...foundFromRow(row, after), count: Number(row.count) }
    }),
    findErasable: snapshot(function* ({ positions, sameAs }) {
      const rows = yield* all(ERASABLE, positions, sameAs)
      const erasable = rows.filter(({ erased }) => erased === null)
      const positionsOf = (some: readonly Row[]) => some.map(({ position }) => position as number)
      const keys = keyList(erasable.map(({ key }) => key))
      return { keys, positions: positionsOf(erasable), allPositions: positionsOf(rows) }
    }),
    forgetAttempts: wipe(function* (customerId, positions) {
      yield* run(FORGET_ATTEMPTS, customerId, positions)
    }),
    eraseNames: wipe(function* (customerId) {
      let most = 0
      for (const sql of ERASE_NAMES) most = Math.max(most, yield* run(sql, customerId, NAMES_AT_ONCE))
      return most === NAMES_AT_ONCE
    }),
  }
}
