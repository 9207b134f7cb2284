import { firstReceiptOf } from '../uuid.ts'
import type { Filter } from '../../store.ts'
import { NO_LIMIT } from '../limits.ts'
import type { Row } from '../work.ts'

type Period = Pick<Filter, 'from' | 'to'>

/**
 * How far times of receipt may go back from one position to a later one without being noted in `unordered_time`: the clocks of
 * replicas differ, and deliveries wait to be stored.
 */
export const SLACK_MILLISECONDS = 300_000
/** The latest time is noted so far ahead, so that it is written once in this time and not with each batch. */
export const AHEAD_MILLISECONDS = 60_000

/** Takes the values of a period, and returns up to when and from when on there is no order within it, because a clock was put back. */
export const UNORDERED = `
  SELECT min(low) AS low, max(high) AS high FROM unordered_time
   WHERE high - low > ${SLACK_MILLISECONDS} AND high >= $1 AND low < $2`

export const periodValues = ({ from, to }: Period): [number, number] => [from ?? 0, to ?? NO_LIMIT]

/**
 * Returns two receipts, as hexadecimal digits. Deliveries of the period stand after the position of the last receipt before the first
 * one, and before the position of the first receipt from the second one on. Null for no limit.
 */
export function receiptsAround({ from, to }: Period, unordered: Row | undefined) {
  const { low, high } = { low: unordered?.low ?? null, high: unordered?.high ?? null }
  const first = from === undefined ? null : Math.min(from - SLACK_MILLISECONDS, Number(low ?? from))
  const last = to === undefined ? null : Math.max(to + SLACK_MILLISECONDS, Number(high ?? 0) + 1)
  return [first === null ? null : firstReceiptOf(first), last === null ? null : firstReceiptOf(last)] as const
}

/** Reads the row with the positions of those receipts. */
export const positionsFromRow = ({ early, end }: Row) => ({
  early: Number(early ?? 0),
  end: Number(end ?? NO_LIMIT),
})
