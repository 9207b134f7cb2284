import type { StatsAnswer } from '#src/purchase/stats/stats.schema.ts'
import { RING_SECONDS } from '../../lib/ring.ts'
import type { Column } from './ranges.ts'
import { HOUR, sumOf, totalOf } from './sums.ts'

/** How much comes in and is refused, and whether that is usual. */
export interface Usual {
  /** Deliveries an hour, as in the last minutes; undefined if nothing is known of them. */
  readonly perHour: number | undefined
  /** Deliveries an hour at the same time 24 hours ago; undefined if they have not been counted yet. */
  readonly dayBefore: number | undefined
  readonly isLess: boolean
  /** Refusals an hour, as in this hour so far or in the last minutes, whichever is more. */
  readonly refusals: number
  /** Undefined if no hour has been counted that they could be compared with. */
  readonly isMoreRefused: boolean | undefined
}

/** Below these numbers, chance decides. */
const ENOUGH_DELIVERIES = 20
const ENOUGH_REFUSALS = 5

const DAY_HOURS = 24
/** So many times the last minutes are an hour. */
const IN_AN_HOUR = HOUR / 1000 / RING_SECONDS

const secondsOf = (columns: readonly Column[]): number => sumOf(columns.map(({ seconds }) => seconds))

/** Compares the columns of the last minutes with hours that have been counted: they must begin 25 hours ago. */
export function usualOf({ Periods, CountedUntil }: StatsAnswer, columns: readonly Column[]): Usual {
  const counted = new Map(
    Periods.map((period) => [Date.parse(period.From), period] as const).filter(
      ([from]) => from + HOUR <= Date.parse(CountedUntil),
    ),
  )
  const known = columns.filter((column) => column.known)
  const hours = secondsOf(known) / (HOUR / 1000)
  const perHour = hours === 0 ? undefined : sumOf(known.map(totalOf)) / hours
  // Just after the hour, most of the last minutes lie in the hour before.
  const before = [...Map.groupBy(known, ({ from }) => Math.floor(from / HOUR))].map(([hour, some]) => {
    const total = counted.get((hour - DAY_HOURS) * HOUR)?.Deliveries.Total
    return total === undefined ? undefined : (total * secondsOf(some)) / secondsOf(known)
  })
  const dayBefore = before.reduce<number | undefined>(
    (sum, some) => (sum === undefined || some === undefined ? undefined : sum + some),
    0,
  )

  const recent = sumOf(columns.flatMap(({ refusals }) => Object.values(refusals)))
  const inThisHour = Periods.at(-1)?.Refusals.Total ?? 0
  const refusedBefore = sumOf(counted.values().map(({ Refusals }) => Refusals.Total)) / counted.size
  return {
    perHour,
    dayBefore,
    isLess:
      perHour !== undefined &&
      dayBefore !== undefined &&
      dayBefore * hours >= ENOUGH_DELIVERIES &&
      perHour < dayBefore / 2,
    refusals: Math.max(inThisHour, IN_AN_HOUR * recent),
    isMoreRefused:
      counted.size === 0
        ? undefined
        : inThisHour > ENOUGH_REFUSALS + 2 * refusedBefore ||
          recent > ENOUGH_REFUSALS + (2 * refusedBefore) / IN_AN_HOUR,
  }
}
