import type { StoreHistory } from '#src/store/store.ts'
import type { Row } from '../database.ts'

/** The position of the last delivery, whether or not it was purged since. A purge leaves the newest delivery. */
const LAST_EVER = 'greatest((SELECT max(position) FROM delivery), (SELECT position FROM purge))'

/**
 * A row if a place lies among lost positions: those that `begin_history_1` left out, or those after the last one. While nothing was
 * stored since a failover, the last one is what is left. Otherwise the place comes from a history that this server knows nothing of, such as
 * that of a primary that took over and was put back: then nobody knows what both have. A session behind a pooler may lead to a standby,
 * which only has not got the last ones yet.
 */
export const LOST = (place: string): string => `
  SELECT began_at, last_position
    FROM (SELECT began_at, last_position FROM history WHERE resumed_after > ${place} ORDER BY resumed_after LIMIT 1) h
   WHERE last_position < ${place}
  UNION ALL
  SELECT NULL, CASE WHEN timeline_1() IS DISTINCT FROM timeline THEN last ELSE 0 END
    FROM (SELECT ${LAST_EVER} AS last, (SELECT timeline FROM history ORDER BY resumed_after DESC LIMIT 1) AS timeline) l
   WHERE last < ${place} AND NOT pg_is_in_recovery()
   ORDER BY began_at LIMIT 1`

/** Gaps overlap where nothing was stored between two failovers. */
export const COUNT_AFTER = `
  SELECT greatest((SELECT max(position) FROM delivery) - $1::bigint
           - coalesce(sum(resumed_after - greatest(last_position, gap_before, $1)), 0), 0) AS count
    FROM (SELECT resumed_after, last_position, lag(resumed_after) OVER (ORDER BY resumed_after) AS gap_before FROM history) h
   WHERE resumed_after > $1`

export const HISTORY = `
  SELECT timeline_1() AS timeline, ${LAST_EVER} AS last, resumed_after, last_position, began_at
    FROM history ORDER BY resumed_after DESC LIMIT 1`

export const historyFromRow = (row: Row): StoreHistory => ({
  timeline: row.timeline as number | null,
  lastPosition: row.last as number,
  resumed:
    row.resumed_after === 0
      ? null
      : { at: row.began_at as number, lastPosition: row.last_position as number, after: row.resumed_after as number },
})
