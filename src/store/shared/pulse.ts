import type { Pulse, PulseBounds, PulseSecond } from '../store.ts'
import { firstReceiptOf } from './uuid.ts'

type Row = Readonly<Record<string, unknown>>

/**
 * SQL for what is counted together, as one number, which sorts fastest: the second of receipt, Status and whether it is an echo.
 * NULL for deliveries received before `from`.
 */
export const pulseKind = (from: string): string =>
  `CASE WHEN received_at >= ${from} THEN received_at / 1000 * 8 + status * 2 + CASE WHEN echo_of IS NULL THEN 0 ELSE 1 END END`

/** The last position that a pulse counts, read from a row with the last one there is. */
export const lastOf = (row: Row | undefined, { until = Number.POSITIVE_INFINITY }: PulseBounds): number =>
  Math.min(Number(row?.position ?? 0), until)

/** Whether a pulse can go on from `after`. If not, it begins again with the newest deliveries. */
export const continues = (after: number | undefined, last: number, { look }: PulseBounds): after is number =>
  after !== undefined && after <= last && last - after <= look

/** The time from which on a new beginning counts deliveries, as their smallest receipt. It is a whole second. */
export const beginningOf = ({ from }: PulseBounds): { readonly from: number; readonly receipt: string } => {
  const second = Math.ceil(from / 1000) * 1000
  return { from: second, receipt: firstReceiptOf(second) }
}

export const noPulse = (position: number, since?: number): Pulse => ({
  position,
  since,
  deliveries: 0,
  seconds: [],
  newest: [],
})

/** Reads rows of `kind` and `count`. */
export function pulseFromRows(rows: readonly Row[]): Pick<Pulse, 'deliveries' | 'seconds'> {
  const seconds = new Map<number, { second: number; byStatus: number[]; duplicates: number }>()
  let deliveries = 0
  for (const row of rows) {
    const count = row.count as number
    deliveries += count
    if (row.kind === null) continue
    const kind = row.kind as number
    const second = Math.floor(kind / 8)
    const status = Math.floor(kind / 2) % 4
    const counted = seconds.get(second) ?? { second, byStatus: [0, 0, 0, 0], duplicates: 0 }
    seconds.set(second, counted)
    counted.byStatus[status] = (counted.byStatus[status] ?? 0) + count
    if (kind % 2 === 1) counted.duplicates += count
  }
  return { deliveries, seconds: [...seconds.values()].sort(bySecond) }
}

const bySecond = (one: PulseSecond, other: PulseSecond): number => one.second - other.second

/** Returns where a beginning has to look for its newest deliveries, and from when on its counts are complete. */
export function beginningFromRows(rows: readonly Row[], from: number, look: number) {
  const deliveries = rows.reduce((sum, { count }) => sum + (count as number), 0)
  const oldest = Math.min(...rows.map((row) => row.oldest as number))
  // The limit may have cut the oldest second.
  const since = deliveries < look ? from : (Math.floor(oldest / 1000) + 1) * 1000
  return { since, oldest, lowest: Math.min(...rows.map((row) => row.lowest as number)) }
}
