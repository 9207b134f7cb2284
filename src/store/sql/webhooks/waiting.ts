import type { Laned, WaitingDelivery } from '../../store.ts'
import type { Dialect } from '../dialect.ts'
import { all, type Row, type Work } from '../work.ts'
import { storable, whole } from './rows.ts'

/** A delivery of an endpoint. */
export interface Place extends Laned {
  readonly id: string
}

const COLUMNS = `
  webhook, position, lane, failures, first_failed_at, next_at, set_aside_at, last_error, answered, replayed`

const KEPT = `webhook text, position bigint, lane bigint, failures bigint, first_failed_at bigint, next_at bigint, \
set_aside_at bigint, last_error text, answered boolean`

/** The first delivery of a lane that is not set aside. */
export const firstOf =
  ({ indexedBy }: Dialect) =>
  (lane: string): string =>
    `(
    SELECT f.position FROM webhook_waiting f ${indexedBy('webhook_waiting_lane')}
     WHERE f.webhook = ${lane}.webhook AND f.lane = ${lane}.lane AND f.set_aside_at IS NULL ORDER BY f.position LIMIT 1)`

/** One that was never tried does not replace what is known of it. */
const KEEP = (v: string): string => `
  INSERT INTO webhook_waiting (${COLUMNS})
  SELECT v.webhook, v.position, v.lane, v.failures, v.first_failed_at, v.next_at, v.set_aside_at, v.last_error, v.answered, false
    FROM ${v} WHERE true
  ON CONFLICT (webhook, position) DO UPDATE
     SET failures = excluded.failures, first_failed_at = excluded.first_failed_at, next_at = excluded.next_at,
         set_aside_at = excluded.set_aside_at, last_error = excluded.last_error, answered = excluded.answered
   WHERE excluded.failures > 0`

const REVIVE = (v: string): string => `
  INSERT INTO webhook_waiting AS kept (${COLUMNS})
  SELECT v.webhook, v.position, v.lane, 0, NULL, NULL, NULL, NULL, false, true FROM ${v} WHERE true
  ON CONFLICT (webhook, position) DO UPDATE
     SET failures = 0, first_failed_at = NULL, set_aside_at = NULL, last_error = NULL, answered = false, replayed = true
   WHERE kept.set_aside_at IS NOT NULL
  RETURNING position`

const COUNT = (v: string): string => `
  UPDATE webhook_progress AS p
     SET waiting = p.waiting + v.waiting, failing = p.failing + v.failing, set_aside = p.set_aside + v.set_aside,
         failing_since = CASE WHEN p.failing + v.failing > 0 THEN coalesce(p.failing_since, v.now) END
    FROM ${v} WHERE p.webhook = v.webhook`

const FAILED_BEFORE = `
  SELECT webhook AS id, position, lane FROM webhook_waiting
   WHERE webhook = $1 AND first_failed_at <= $2 AND set_aside_at IS NULL ORDER BY first_failed_at LIMIT $3`

/** They did not get an answer: those that got one keep their own pauses. */
const HURRY = (v: string): string => `
  UPDATE webhook_waiting AS w SET next_at = v.now + w.position % 1000 FROM ${v}
   WHERE w.webhook = v.webhook AND w.answered = false AND w.next_at > v.now + 1000
     AND w.failures > 0 AND w.set_aside_at IS NULL`

/**
 * Changes the rows of what waits, in a transaction that has locked the progress of the endpoints. Keeps the counters exact, whatever was
 * there before, and gives the first delivery of each lane its time, and no other one.
 */
export const waitingRows = (dialect: Dialect) => {
  const { batch, one, pick, rows } = dialect
  const first = firstOf(dialect)
  /** The rows with the keys of a batch: see `Dialect.rows`. */
  const at = (v: string, position = 'v.position'): string =>
    pick({
      sqlite: `(webhook, position) IN (SELECT v.webhook, ${position} FROM ${v})`,
      postgres: `
        ctid = ANY (ARRAY(SELECT w.ctid FROM ${v} CROSS JOIN LATERAL (
          SELECT ctid FROM webhook_waiting WHERE webhook = v.webhook AND position = ${position} LIMIT 1) w))`,
    })
  /** The same in all rows of a batch. */
  const nowOf = (v: string): string => `(SELECT max(v.now) FROM ${v})`
  const standing = batch(
    'webhook text, position bigint',
    (v) => `
      SELECT w.webhook AS id, w.position, w.lane, w.failures, w.set_aside_at
        FROM ${v} ${one('webhook_waiting', 'w', 'w.webhook = v.webhook AND w.position = v.position')}`,
  )
  const firsts = batch(
    'webhook text, lane bigint',
    (v) => `SELECT v.webhook AS id, ${first('v')} AS position FROM ${v}`,
  )
  const keepAll = batch(KEPT, KEEP)
  const reviveAll = batch('webhook text, position bigint, lane bigint', REVIVE)
  const removeAll = batch('webhook text, position bigint', (v) => `DELETE FROM webhook_waiting WHERE ${at(v)}`)
  /** A later delivery of the lane has its time no longer. */
  const demote = batch(
    'webhook text, position bigint',
    (v) => `
      UPDATE webhook_waiting AS w SET next_at = NULL
       WHERE ${at(v)} AND next_at IS NOT NULL AND position > ${first('w')}`,
  )
  const promote = batch(
    'webhook text, lane bigint, now bigint',
    (v) => `
      UPDATE webhook_waiting SET next_at = ${nowOf(v)} WHERE ${at(v, first('v'))} AND next_at IS NULL`,
  )
  const setAside = batch(
    'webhook text, position bigint, now bigint',
    (v) => `UPDATE webhook_waiting SET next_at = NULL, set_aside_at = ${nowOf(v)} WHERE ${at(v)}`,
  )
  const hasten = batch(
    'webhook text, position bigint, now bigint',
    (v) => `
      UPDATE webhook_waiting SET next_at = ${nowOf(v)} WHERE ${at(v)} AND next_at > ${nowOf(v)} RETURNING lane`,
  )
  const LAST = (columns: string): string =>
    `SELECT ${columns} FROM webhook_waiting WHERE webhook = $1 ORDER BY position DESC LIMIT $2`
  const REMOVE_LAST = `
    DELETE FROM webhook_waiting WHERE ${rows('webhook, position', LAST)}
    RETURNING webhook AS id, failures, set_aside_at`
  const count = batch('webhook text, waiting bigint, failing bigint, set_aside bigint, now bigint', COUNT)

  function* changing<Result>(
    { added, gone }: { readonly added: readonly Place[]; readonly gone: readonly Place[] },
    now: number,
    work: () => Work<Result>,
  ): Work<Result> {
    const keys = keysOf([...added, ...gone])
    const before = yield* standing(keys)
    const wereFirst = (yield* firsts(lanesOf(added))).filter(({ position }) => position !== null)
    const result = yield* work()
    yield* demote(keysOf([...wereFirst, ...added] as Place[]))
    yield* promote(lanesOf([...added, ...gone]).map((lane) => [...lane, now]))
    yield* count(differences(before, yield* standing(keys)).map((row) => [...row, now]))
    return result
  }

  return {
    standing,
    /** Stores what was tried or left, and removes what waits no longer. */
    store(kept: readonly (Place & WaitingDelivery)[], settled: readonly Place[], now: number): Work<void> {
      return changing({ added: kept, gone: settled }, now, function* () {
        yield* keepAll(unique(kept).map(keptColumns))
        yield* removeAll(keysOf(settled))
      })
    },
    /** Adds what is to be sent again, or revives what was set aside. Returns the number of those that did not wait already. */
    again(places: readonly Place[], now: number): Work<number> {
      return changing({ added: places, gone: [] }, now, function* () {
        return (yield* reviveAll(unique(places).map(({ id, position, lane }) => [id, position, lane]))).length
      })
    },
    /** Sets aside what failed first at a time or before. Returns how many. */
    *giveUp(id: string, before: number, limit: number, now: number): Work<number> {
      const gone = (yield* all(FAILED_BEFORE, id, before, limit)) as unknown as readonly Place[]
      if (gone.length > 0)
        yield* changing({ added: [], gone }, now, () => setAside(gone.map(({ position }) => [id, position, now])))
      return gone.length
    },
    /** Removes the last of those that wait for an endpoint or are set aside: lanes keep their first. Returns how many. */
    *removeLast(id: string, limit: number): Work<number> {
      const gone = yield* all(REMOVE_LAST, id, limit)
      yield* count(differences(gone, []).map((row) => [...row, 0]))
      return gone.length
    },
    hurry: batch('webhook text, now bigint', HURRY),
    /** Makes due what failed and would be tried again later. */
    hasten,
  }
}

const keptColumns = (row: Place & WaitingDelivery) => [
  row.id,
  row.position,
  row.lane,
  row.failures,
  whole(row.firstFailedAt),
  row.setAsideAt === null ? whole(row.nextAt) : null,
  whole(row.setAsideAt),
  storable(row.lastError),
  row.answered,
]

export type Key = Omit<Place, 'lane'>

/** The last word on a position counts. */
const unique = <Each extends Key>(places: readonly Each[]): Each[] => [
  ...new Map(places.map((place) => [`${place.id} ${place.position}`, place])).values(),
]

const keysOf = (places: readonly Key[]) => unique(places).map(({ id, position }) => [id, position] as const)

const lanesOf = (places: readonly Place[]): (readonly [string, number])[] => [
  ...new Map(places.map(({ id, lane }) => [`${id} ${lane}`, [id, lane] as const])).values(),
]

/** What the counters of each endpoint have to be changed by. */
function differences(
  before: readonly Row[],
  after: readonly Row[],
): (readonly [id: string, waiting: number, failing: number, setAside: number])[] {
  const counts = new Map<string, [waiting: number, failing: number, setAside: number]>()
  for (const [rows, by] of [[before, -1] as const, [after, 1] as const])
    for (const row of rows) {
      const own = counts.getOrInsertComputed(row.id as string, () => [0, 0, 0])
      if (row.set_aside_at !== null) own[2] += by
      else {
        own[0] += by
        if ((row.failures as number) > 0) own[1] += by
      }
    }
  return [...counts].filter(([, own]) => own.some((by) => by !== 0)).map(([id, own]) => [id, ...own] as const)
}
