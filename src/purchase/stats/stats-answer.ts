import { isoMilliseconds } from '#src/lib/clock.ts'
import type { Stats, Sums } from './stats.rule.ts'

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
