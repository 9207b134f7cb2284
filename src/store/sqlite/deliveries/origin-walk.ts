import type { WithinBytes } from '../../sql/deliveries/walks.ts'
import { get, type Work } from '../../sql/work.ts'

/** Payloads that one walk reads through to the origins behind them. Others wait for the thread meanwhile. */
const MAX_BYTES = 64 * 1024 * 1024

/**
 * Deliveries whose sizes are looked at first, spread evenly: to add up those of all would take half as long as a walk through small
 * payloads. A few large ones among many may be missed, which cost little. The size of a payload stands at the beginning of its row.
 */
const SAMPLES = 128

const LARGEST = `
  SELECT max((SELECT octet_length(payload) FROM delivery WHERE position >= json_each.value ORDER BY position LIMIT 1)) AS bytes
    FROM json_each($1)`

/** Ends at the first row that goes beyond: it adds up row by row, in the order in which it reads them. */
const reached = (from: string, order = ''): string => `
  SELECT position
    FROM (SELECT d.position, sum(octet_length(d.payload)) OVER (${order} ROWS UNBOUNDED PRECEDING) AS bytes FROM ${from})
   WHERE bytes >= ${MAX_BYTES}
   LIMIT 1`

const UP = reached('delivery d WHERE d.position >= $1 AND d.position <= $2', 'ORDER BY d.position')
const DOWN = reached('delivery d WHERE d.position <= $1 AND d.position >= $2', 'ORDER BY d.position DESC')
const LISTED = reached('json_each($1) CROSS JOIN delivery d ON d.position = json_each.value')

/** Whether they may have too many bytes together. */
function* areLarge(count: number, at: (index: number) => number): Work<boolean> {
  const samples = Math.min(count, SAMPLES)
  const positions = Array.from({ length: samples }, (_, n) => at(Math.floor((n * count) / samples)))
  return Number((yield* get(LARGEST, positions))?.bytes ?? 0) * count > MAX_BYTES
}

export const withinBytes: WithinBytes = function* (first, last) {
  const step = first <= last ? 1 : -1
  if (!(yield* areLarge(Math.abs(last - first) + 1, (index) => first + step * index))) return last
  return Number((yield* get(step === 1 ? UP : DOWN, first, last))?.position ?? last)
}

/** Returns those, the newest first, at which a walk may look. */
export function* listedWithinBytes(positions: readonly number[]): Work<readonly number[]> {
  if (!(yield* areLarge(positions.length, (index) => positions[index] as number))) return positions
  const end = Number((yield* get(LISTED, positions))?.position ?? 0)
  return positions.filter((position) => position >= end)
}
