import type { DeliveryStore, DeliverySummary, Pulse, PulseBounds, PulseSecond } from '../../store.ts'
import type { Dialect } from '../dialect.ts'
import { firstReceiptOf } from '../uuid.ts'
import { all, allAs, follow, get, type Noun, type Row, type Work } from '../work.ts'
import { LAST } from './look-ups.ts'
import { summaryFromRow } from './rows.ts'
import { allFilterValues, before } from './walks.ts'

/**
 * What is counted together, as one number, which sorts fastest: the second of receipt, Status and whether it is an echo. NULL for
 * deliveries received before `$1`.
 */
const KIND =
  'CASE WHEN received_at >= $1 THEN received_at / 1000 * 8 + status * 2 + CASE WHEN echo_of IS NULL THEN 0 ELSE 1 END END AS kind'

/** On PostgreSQL positions become visible in order (see `deliver_1`), so none before the last one can appear later. */
const SINCE = `
  SELECT ${KIND}, count(*) AS count
    FROM (SELECT received_at, status, echo_of FROM delivery
           WHERE position > $2 AND position <= $3 ORDER BY position LIMIT $4) d
   GROUP BY 1`

export function pulses(dialect: Dialect): Noun<Pick<DeliveryStore, 'pulse'>> {
  /** Receipts begin with the time of receipt, so that a beginning is complete whatever the order of commits. */
  const BEGINNING = `
    SELECT ${KIND}, count(*) AS count, min(received_at) AS oldest, min(position) AS lowest
      FROM (SELECT position, received_at, status, echo_of FROM delivery
             WHERE receipt >= ${dialect.receipt('$2')} AND position + 0 <= $3 ORDER BY receipt DESC LIMIT $4) d
     GROUP BY 1`
  const BEFORE = before(dialect)

  const newestOf = (last: number, lowest: number, from: number, { newest }: PulseBounds): Work<DeliverySummary[]> =>
    allAs(summaryFromRow, BEFORE, last + 1, lowest, ...allFilterValues({ from }), newest)

  function* begin(last: number, bounds: PulseBounds): Work<Pulse> {
    const from = Math.ceil(bounds.from / 1000) * 1000
    const rows = yield* all(BEGINNING, from, firstReceiptOf(from), last, bounds.look)
    if (rows.length === 0) return noPulse(last, from)
    const counts = countsOf(rows)
    const oldest = Math.min(...rows.map((row) => row.oldest as number))
    const lowest = Math.min(...rows.map((row) => row.lowest as number))
    // The limit may have cut the oldest second.
    const since = counts.deliveries < bounds.look ? from : (Math.floor(oldest / 1000) + 1) * 1000
    const newest = yield* newestOf(last, Math.max(lowest, last - bounds.look), oldest, bounds)
    return { position: last, since, ...counts, newest }
  }

  return {
    pulse: follow(function* (after, bounds) {
      const { from, look } = bounds
      const last = Number((yield* get(LAST))?.position ?? 0)
      if (after === undefined || after > last || last - after > look) return yield* begin(last, bounds)
      if (after === last) return noPulse(last)
      const counts = countsOf(yield* all(SINCE, from, after, last, look))
      return { position: last, since: undefined, ...counts, newest: yield* newestOf(last, after + 1, 0, bounds) }
    }),
  }
}

const noPulse = (position: number, since?: number): Pulse => ({
  position,
  since,
  deliveries: 0,
  seconds: [],
  newest: [],
})

/** Reads rows of `kind` and `count`. */
function countsOf(rows: readonly Row[]): Pick<Pulse, 'deliveries' | 'seconds'> {
  const seconds = new Map<number, { second: number; byStatus: number[]; duplicates: number }>()
  let deliveries = 0
  for (const row of rows) {
    const count = row.count as number
    deliveries += count
    if (row.kind === null) continue
    const kind = row.kind as number
    const second = Math.floor(kind / 8)
    const status = Math.floor(kind / 2) % 4
    const counted = seconds.getOrInsertComputed(second, () => ({ second, byStatus: [0, 0, 0, 0], duplicates: 0 }))
    counted.byStatus[status] = (counted.byStatus[status] ?? 0) + count
    if (kind % 2 === 1) counted.duplicates += count
  }
  return { deliveries, seconds: [...seconds.values()].sort(bySecond) }
}

const bySecond = (one: PulseSecond, other: PulseSecond): number => one.second - other.second
