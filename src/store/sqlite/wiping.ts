import { monotonicMilliseconds } from '#src/lib/clock.ts'
import { MAX_BYTES } from '../sql/purge-page.ts'
import { all, get, type Row, run, type Value, type Work, wipe } from '../sql/work.ts'
import { firstWithin } from '../within-bytes.ts'
import { type Database, SHORT_WAIT_MILLISECONDS } from './database.ts'

/** Runs a transaction that overwrites what rows held before, also in pages that get free, which FAST leaves alone. */
export function withSecureDelete<Result>(database: Database, work: () => Result): Result {
  database.script('PRAGMA secure_delete = ON')
  try {
    return database.transaction(work)
  } finally {
    database.script('PRAGMA secure_delete = FAST')
  }
}

/** Tables that must not keep copies of their rows: the key that orders the rows, and the bytes of the column that may be large. */
const TABLES = {
  delivery: { key: 'position', bytes: 'length(payload)' },
  refused_delivery: { key: 'number', bytes: 'length(payload)' },
  audit_event: { key: 'number', bytes: '0' },
  webhook_attempt: { key: 'number', bytes: '0' },
}

/** SQLite balances up to three neighbouring pages. */
const NEIGHBOURS_BYTES = 4 * 4096
/** More rows than as many bytes can hold. */
const MAX_NEIGHBOURS = 400
/** Of a larger payload, SQLite keeps at least this much with the row, and the rest in pages of its own. */
const LOCAL_BYTES = 480

/** Returns the last of the rows that stand in the first few pages. */
const lastNeighbour = (rows: readonly Row[]): Row | undefined =>
  firstWithin(rows, NEIGHBOURS_BYTES, ({ bytes }) => Math.min(bytes as number, LOCAL_BYTES)).at(-1)

/**
 * Part of a transaction in mode `wipe`: removes the copies that deleted and moved rows left behind in unused parts of pages, among the next
 * `look` rows. Returns the key of the last of them, to continue with; null at the end of the table.
 *
 * It deletes rows and inserts them again, because a page whose rows are all deleted is overwritten as a whole. It includes the rows of
 * neighbouring pages, so that two calls in a row leave out none of the pages that have rows of both.
 */
export function* wipePages(table: keyof typeof TABLES, after: number, look: number): Work<number | null> {
  const { key, bytes } = TABLES[table]
  const SIZES = `SELECT ${key} AS key, ${bytes} AS bytes FROM ${table}`
  const AFTER = `${SIZES} WHERE ${key} > $1 ORDER BY ${key} LIMIT $2`
  const rows = firstWithin(yield* all(AFTER, after, look), MAX_BYTES, ({ bytes }) => bytes as number)
  const last = rows.at(-1)?.key as number | undefined
  if (last === undefined) return null
  const before = yield* all(`${SIZES} WHERE ${key} <= $1 ORDER BY ${key} DESC LIMIT $2`, after, MAX_NEIGHBOURS)
  const beyond = yield* all(AFTER, last, MAX_NEIGHBOURS)
  const from = (lastNeighbour(before) ?? rows[0])?.key as number
  const to = Number(lastNeighbour(beyond)?.key ?? last)
  const WITHIN = `FROM ${table} WHERE ${key} >= $1 AND ${key} <= $2`
  const deleted = yield* all(`SELECT * ${WITHIN} ORDER BY ${key}`, from, to)
  yield* run(`DELETE ${WITHIN}`, from, to)
  const names = Object.keys(deleted[0] as Row)
  const INSERT = `INSERT INTO ${table} (${names}) VALUES (${names.map((_, index) => `$${index + 1}`)})`
  for (const row of deleted) yield* run(INSERT, ...names.map((name) => row[name] as Value))
  return last
}

const REFUSED_AT_ONCE = 500
/** Old events are only removed at the beginning of the table, so only the first pages can hold copies. */
const FIRST_EVENTS = 500

export const wipeRefused = wipe(function* (after: number) {
  if (after === 0) yield* wipePages('audit_event', 0, FIRST_EVENTS)
  return yield* wipePages('refused_delivery', after, REFUSED_AT_ONCE)
})

/** How long another checkpoint is waited for. */
const PATIENCE_MILLISECONDS = 500
const PAUSE_MILLISECONDS = 5

/**
 * Copies all of the log into the file and cuts it to nothing, so that nothing old is left in it. Returns false while somebody reads an
 * old state, or another checkpoint takes too long.
 */
export function* emptyLog(): Work<boolean> {
  const deadline = monotonicMilliseconds() + PATIENCE_MILLISECONDS
  for (;;) {
    const begun = monotonicMilliseconds()
    if ((yield* get('PRAGMA wal_checkpoint(TRUNCATE)'))?.busy === 0) return true
    // SQLite waits for readers by itself, and keeps all writers waiting meanwhile. It does not wait for another checkpoint.
    const waitedForReaders = monotonicMilliseconds() - begun >= SHORT_WAIT_MILLISECONDS / 2
    if (waitedForReaders || monotonicMilliseconds() >= deadline) return false
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MILLISECONDS)
  }
}
