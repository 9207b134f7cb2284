import { type Caller, customerAskedFor } from '#src/customer/find-customer.ts'
import { AppError } from '#src/lib/app-error.ts'
import { type Clock, isoMilliseconds } from '#src/lib/clock.ts'
import { HOUR_MILLISECONDS } from '#src/lib/duration.ts'
import type { Counts, Store } from '#src/store/store.ts'
import type { ListQuery } from '../cursors.ts'
import { purchaseErrors } from '../purchase.errors.ts'

/** `from` is rounded down to the beginning of its period, and `to` up to the end of its period. */
interface StatsQuery extends Pick<ListQuery, 'customer' | 'from' | 'to'> {
  readonly by: Period
}

export type Period = 'hour' | 'day'

export interface Sums {
  /** Deliveries by Status, echoes included. */
  readonly byStatus: number[]
  echoes: number
  readonly refusals: Record<string, number>
  readonly refusedLogins: Record<string, number>
}

export type Stats = Awaited<ReturnType<ReturnType<typeof createStats>>>
export type PeriodSums = Stats['periods'][number]

/** Deliveries that one request counts itself because the server has not yet. */
const MAX_COUNTED = 50_000

const HOURS_EACH = { hour: 1, day: 24 }
const DEFAULT_PERIODS = { hour: 24, day: 30 }
/** 31 days by hour, a leap year by day. */
const MAX_PERIODS = { hour: 744, day: 366 }

export const createStats =
  ({ rollUps, customers, clock }: Pick<Store, 'rollUps' | 'customers'> & { readonly clock: Clock }) =>
  async (caller: Caller, query: StatsQuery) => {
    const now = clock.now()
    const hoursEach = HOURS_EACH[query.by]
    const { from, to } = periodsOf(query, now)
    const customerId = await customerAskedFor(caller, query.customer, customers)
    const range = { customerId, from: from * hoursEach, to: to * hoursEach, hoursEach }
    const counts = await rollUps.read(range, MAX_COUNTED)
    const each = hoursEach * HOUR_MILLISECONDS
    const periods = Array.from({ length: to - from }, (_, index) => ({ from: (from + index) * each, ...nothing() }))
    const totals = nothing()
    addTo(periods, totals, from, counts)
    return {
      /** The rounded range, in milliseconds since 1970. */
      from: from * each,
      to: to * each,
      by: query.by,
      /** Every delivery that was accepted before then is counted. */
      countedUntil: counts.notCountedFrom ?? now,
      periods,
      totals,
    }
  }

/** Returns the numbers of the first period and of the one after the last. */
function periodsOf({ from, to, by }: StatsQuery, now: number): { from: number; to: number } {
  const each = HOURS_EACH[by] * HOUR_MILLISECONDS
  const end = Math.ceil((to ?? now + 1) / each)
  const start = from === undefined ? end - DEFAULT_PERIODS[by] : Math.floor(from / each)
  const maxPeriods = MAX_PERIODS[by]
  if (end <= start) throw refused('from must be before to, which is now if it is not given')
  if (end - start > maxPeriods)
    throw refused(
      by === 'hour' ? 'by hour, it has at most 31 days; ask by day for more' : `it has at most ${maxPeriods} days`,
    )
  return { from: start, to: end }
}

const refused = (why: string): AppError =>
  new AppError(purchaseErrors.rangeInvalid, { message: `The range of time is not valid: ${why}.` })

const nothing = (): Sums => ({ byStatus: [0, 0, 0, 0], echoes: 0, refusals: {}, refusedLogins: {} })

function addTo(periods: readonly Sums[], totals: Sums, first: number, { deliveries, refusals }: Counts): void {
  for (const { period, byStatus, echoes } of deliveries) {
    for (const sums of [periods[period - first] as Sums, totals]) {
      for (const [status, count] of byStatus.entries()) sums.byStatus[status] = (sums.byStatus[status] ?? 0) + count
      sums.echoes += echoes
    }
  }
  for (const { period, action, errorCode, count } of refusals) {
    if (action === 'operator.refused') continue
    for (const sums of [periods[period - first] as Sums, totals]) {
      const codes = action === 'login.refused' ? sums.refusedLogins : sums.refusals
      codes[errorCode] = (codes[errorCode] ?? 0) + count
    }
  }
}

/** The counts as the API shows them. */
export const statsAnswer = ({ from, to, by, countedUntil, periods, totals }: Stats) => ({
  From: timeOf(from),
  To: timeOf(to),
  By: by,
  CountedUntil: isoMilliseconds(countedUntil),
  Periods: periods.map(({ from, ...sums }) => ({ From: timeOf(from), ...sumsAnswer(sums) })),
  Totals: sumsAnswer(totals),
})

const sumsAnswer = ({ byStatus, echoes, refusals, refusedLogins }: Sums) => ({
  Deliveries: { Total: sum(byStatus), ByStatus: { ...byStatus } as unknown as ByStatus },
  Echoes: echoes,
  Refusals: { Total: sum(Object.values(refusals)), ByCode: refusals },
  RefusedLogins: { Total: sum(Object.values(refusedLogins)), ByCode: refusedLogins },
})

type ByStatus = Record<'0' | '1' | '2' | '3', number>

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

/** Periods begin with a whole second. */
const timeOf = (milliseconds: number): string => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`
