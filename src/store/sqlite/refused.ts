import { type RefusedOperations, refused } from '../sql/refused.ts'
import { all, get, type Noun, type Row, run, type Value, type Work, wipe } from '../sql/work.ts'
import { sqlite } from './dialect.ts'
import { withinBytes } from './purges/reads.ts'

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

/** Returns the last of the rows that stand in the first few pages. */
const lastNeighbour = (rows: readonly Row[]): Row | undefined =>
  withinBytes(rows, NEIGHBOURS_BYTES, (bytes) => Math.min(bytes + ROW_LEAST_BYTES, ROW_MOST_BYTES)).at(-1)

/** Deletes rows and inserts them again: a page whose rows are all deleted is overwritten as a whole. */
function* rewrite(table: 'audit_event' | 'refused_delivery', after: number, last: number): Work<void> {
  const rows = yield* all(`SELECT * FROM ${table} WHERE number > $1 AND number <= $2 ORDER BY number`, after, last)
  const names = Object.keys(rows[0] ?? {})
  yield* run(`DELETE FROM ${table} WHERE number > $1 AND number <= $2`, after, last)
  const insert = `INSERT INTO ${table} (${names}) VALUES (${names.map((_, index) => `$${index + 1}`)})`
  for (const row of rows) yield* run(insert, ...names.map((name) => row[name] as Value))
}

/** Only a file has pages that this process must look after. */
export const refusedWithPages: Noun<RefusedOperations> = {
  ...refused(sqlite),
  wipePages: wipe(function* (after) {
    if (after === 0) {
      const event = yield* get('SELECT number FROM audit_event ORDER BY number LIMIT 1 OFFSET $1', FIRST_EVENTS)
      yield* rewrite('audit_event', 0, Number(event?.number ?? Number.MAX_SAFE_INTEGER))
    }
    const last = withinBytes(yield* all(SIZES_AFTER, after, AT_ONCE)).at(-1)?.number as number | undefined
    if (last === undefined) return null
    const again = lastNeighbour(yield* all(SIZES_BEFORE, after, MOST_NEIGHBOURS))
    const beyond = lastNeighbour(yield* all(SIZES_AFTER, last, MOST_NEIGHBOURS))
    yield* rewrite('refused_delivery', Number(again?.number ?? after + 1) - 1, Number(beyond?.number ?? last))
    return last
  }),
}
