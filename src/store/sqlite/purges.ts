import { message } from '#src/lib/messages/message.ts'
import { deleteBlocks, type OwnSteps, purgeStateFromRow, purgeStore, type SharedSteps } from '../sql/purges.ts'
import { unsentDeliveries } from '../sql/unsent.ts'
import { all, alone, find, get, type Noun, type Row, run, type Work, wipe, write } from '../sql/work.ts'
import type { PurgeStore, RollUpStore } from '../store.ts'
import { erasedContent } from './deliveries/erased.ts'
import { sqlite } from './dialect.ts'
import { emptyLog, wipePages } from './wiping.ts'

/** A file loses nothing to a failover, and a restored backup refuses later cursors: only a place after the last position is of no use. */
const STATE = `
  SELECT generation, position, announced, NULL AS lost_at, CASE WHEN last < $1 THEN 0 END AS last_left
    FROM (SELECT *, max(position, coalesce((SELECT max(position) FROM delivery), 0)) AS last FROM purge)`

const DELETE_ORDER = `
  DELETE FROM order_state
   WHERE (customer, order_id) = (SELECT customer, order_id FROM delivery WHERE position = $1) AND latest_position = $1
  RETURNING state_position, latest_position`

const DELETE = `
  DELETE FROM delivery WHERE position IN (SELECT value FROM json_each($1)) RETURNING position, length(payload) AS bytes`

/** Keys are as old as their deliveries, and numbered in that order. */
const DELETE_KEYS = `
  DELETE FROM idempotency
   WHERE number IN (SELECT number FROM idempotency ORDER BY number LIMIT $1) AND kept_at < $2`

const REMOVED = 'UPDATE purge SET position = max(position, $1)'

/** Values of the same size are written over the former ones, in place. Otherwise SQLite would move rows and leave copies behind. */
const ERASE = `
  UPDATE delivery SET order_id = $1, payload = $2, origin = $3, erased = 1 WHERE position = $4`

const FIND = 'SELECT order_id, erased, payload, origin FROM delivery WHERE position = $1'

/** Returns whether there was something to erase. */
function* eraseOne(position: number, withOrderId: boolean): Work<boolean> {
  const row = yield* get(FIND, position)
  if (row === undefined) return false
  const orderId = row.order_id as string | null
  const keptId = withOrderId && orderId !== null ? '-'.repeat(Buffer.byteLength(orderId)) : orderId
  if (row.erased !== null && keptId === orderId) return false
  const content = { payload: row.payload as Uint8Array, origin: row.origin as Uint8Array | null }
  const { payload, origin } = row.erased === null ? erasedContent(content) : content
  yield* run(ERASE, keptId, payload, origin, position)
  return true
}

const PAGES_AT_ONCE = 100
const ATTEMPTS_AT_ONCE = 500

const { settling } = unsentDeliveries(sqlite)

interface FileSteps extends Omit<OwnSteps, 'keepMonths'> {
  /** Wipes the pages of attempts, and resolves to where to continue; null at the end. */
  wipeAttempts(after: number): Promise<number | null>
}

/** What SQLite does in its own way: it has to overwrite what it deletes, and to shrink its file. */
export const filePurges: Noun<FileSteps> = {
  state: find(function* (place = 0) {
    return purgeStateFromRow((yield* get(STATE, place)) as Row)
  }),
  remove: write(function* ({ keys, latests, last, unsent }, { after, before, now }) {
    const settle = yield* settling(unsent, { after, last, now })
    const positions = JSON.parse(keys)
    let gone = 0
    for (const latest of JSON.parse(latests)) {
      const order = yield* get(DELETE_ORDER, latest)
      if (order === undefined) continue
      gone++
      positions.push(order.state_position, order.latest_position)
    }
    const rows = yield* all(DELETE, positions)
    yield* run(DELETE_KEYS, 2 * positions.length, before)
    yield* deleteBlocks(sqlite, after, last)
    yield* run(REMOVED, Math.max(0, ...rows.map((row) => row.position as number)))
    return {
      deliveries: rows.length,
      orders: gone,
      payloadBytes: rows.reduce((sum, { bytes }) => sum + (bytes as number), 0),
      unsent: yield* settle(new Set(rows.map((row) => row.position as number))),
    }
  }),
  giveBack: write(function* (keepPart) {
    if ((yield* get('PRAGMA auto_vacuum'))?.auto_vacuum === 0) return false
    const free = Number((yield* get('PRAGMA freelist_count'))?.freelist_count)
    const least = Math.floor(Number((yield* get('PRAGMA page_count'))?.page_count) * keepPart)
    const pages = Math.min(PAGES_AT_ONCE, free - least)
    if (pages > 0) yield* run(`PRAGMA incremental_vacuum(${pages})`)
    return free - PAGES_AT_ONCE > least
  }),
  rewrite: alone(function* () {
    yield* run('PRAGMA auto_vacuum = INCREMENTAL')
    yield* run('VACUUM')
  }),
  erase: wipe(function* (keys, withOrderIds) {
    let erased = 0
    for (const position of JSON.parse(keys)) erased += Number(yield* eraseOne(position, withOrderIds))
    return erased
  }),
  wipePages: wipe(function* (after, look) {
    const purged = (yield* get('SELECT position FROM purge'))?.position as number
    return after < purged ? yield* wipePages('delivery', after, look) : null
  }),
  wipeAttempts: wipe((after) => wipePages('webhook_attempt', after, ATTEMPTS_AT_ONCE)),
  wipeLog: alone(function* () {
    return (yield* emptyLog()) ? undefined : message('LOG_IS_READ')
  }),
}

export function sqlitePurges(
  { wipeAttempts, ...steps }: SharedSteps & FileSteps,
  rollUps: Pick<RollUpStore, 'count'>,
): PurgeStore {
  // A file has no months.
  const keepMonths = async () => ({ made: 0, dropped: [] })
  const store = purgeStore({ ...steps, keepMonths }, rollUps)
  return {
    ...store,
    async wipePages(after, look) {
      if (after === 0) for (let next: number | null = 0; next !== null; ) next = await wipeAttempts(next)
      return store.wipePages(after, look)
    },
  }
}
