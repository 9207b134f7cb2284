import type { StatsAnswer } from '#src/purchase/stats/stats.schema.ts'

/** How much comes in and is refused, and whether that is usual. */
export interface Usual {
  /** Deliveries an hour, as in the last minutes. */
  readonly perHour: number
  /** Deliveries in the same hour of the day before. */
  readonly dayBefore: number
  readonly isLess: boolean
  /** Refusals in this hour so far. */
  readonly refusals: number
  readonly isMoreRefused: boolean
}

/** Below these numbers, chance decides. */
const ENOUGH_DELIVERIES = 20
const ENOUGH_REFUSALS = 5

/** Compares with `stats` by hour, which begin at this hour of the day before. */
export function usualOf({ Periods }: StatsAnswer, perHour: number): Usual {
  const before = Periods.slice(0, -1)
  const dayBefore = Periods[0]?.Deliveries.Total ?? 0
  const refusals = Periods.at(-1)?.Refusals.Total ?? 0
  const refusedBefore = before.reduce((sum, { Refusals }) => sum + Refusals.Total, 0) / Math.max(before.length, 1)
  return {
    perHour,
    dayBefore,
    isLess: dayBefore >= ENOUGH_DELIVERIES && perHour < dayBefore / 2,
    refusals,
    isMoreRefused: refusals > ENOUGH_REFUSALS + 2 * refusedBefore,
  }
}
