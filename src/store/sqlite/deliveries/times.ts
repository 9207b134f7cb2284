import { SLACK_MILLISECONDS } from '#src/store/sql/deliveries/look-ups.ts'
import type { Database, Row } from '../database.ts'

/** The latest time is noted so far ahead, so that it is written once in this time and not with each batch. */
const AHEAD_MILLISECONDS = 60_000

/** SQLite takes both columns from the same row. */
const LATEST = 'SELECT low, max(high) AS high FROM unordered_time'

/** Deletes what the new row contains: the row of the latest time, and those of earlier steps back that this one reaches into. */
const DELETE = `
  DELETE FROM unordered_time WHERE high - low <= ${SLACK_MILLISECONDS} OR ($1 < $2 - ${SLACK_MILLISECONDS} AND high >= $1) RETURNING low`

const INSERT = 'INSERT INTO unordered_time (low, high) VALUES ($1, $2)'

/** Notes the times of a batch, as part of its transaction: the latest time once a minute, and how far a clock was put back. */
export function noteTimes(database: Database, deliveries: readonly { readonly receivedAt: number }[]): void {
  let [earliest, latest] = [Number.POSITIVE_INFINITY, 0]
  for (const { receivedAt } of deliveries) {
    earliest = Math.min(earliest, receivedAt)
    latest = Math.max(latest, receivedAt)
  }
  const { low, high } = database.get(LATEST) as Row
  if (high !== null && earliest >= Number(low) && latest <= Number(high)) return
  const end = Math.max(Number(high ?? 0), latest + AHEAD_MILLISECONDS)
  const start = Math.min(earliest, end - SLACK_MILLISECONDS)
  const contained = database.all(DELETE, start, end).map((row) => row.low as number)
  const isStepBack = start < end - SLACK_MILLISECONDS
  database.run(INSERT, isStepBack ? Math.min(start, ...contained) : start, end)
}
