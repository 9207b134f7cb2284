import { OPERATOR } from '#src/customer/find-customer.ts'
import {
  createStats,
  type PeriodSums,
  type Stats,
  type Sums,
  statsAnswer,
  sum,
} from '#src/purchase/stats/stats.rule.ts'
import type { CliContext, Command } from './command.ts'
import { byPrefix } from './input/id-prefix.ts'
import { periodOptions, readPeriod } from './input/time.ts'
import { table } from './output/table.ts'
import { utcTimes } from './output/times.ts'
import { withStore } from './with-store.ts'

export const stats: Command = {
  name: 'stats',
  about: 'Count deliveries and refusals by hour or day',
  details:
    'Shows the last 24 hours, or with --by day the last 30 days; days are days in UTC, as are those of --from and --to then. Columns 0 to 3 are deliveries by Status; periods without any delivery or refusal are left out. Deliveries that were purged since are counted, too. Beside a running server, refusals of the last second may be missing.',
  options: {
    customer: { value: 'CUSTOMER', about: 'Only of this customer: e-mail address or id' },
    ...periodOptions,
    by: {
      value: 'PERIOD',
      choices: { hour: 'at most 31 days', day: 'at most 366 days' },
      about: 'Length of a period; hour if not given',
    },
  },
  async run(input, context) {
    const now = context.clock.now()
    const by = input.text('by') === 'day' ? 'day' : 'hour'
    const period = readPeriod(input, now, by === 'day' || input.flag('utc'))
    const query = { customer: input.text('customer'), ...period, by } as const
    const found = await withStore(context, 'read', ({ rollUps, customers }) =>
      createStats({ rollUps, customers: byPrefix(customers), clock: context.clock })(OPERATOR, query),
    )
    return { json: statsAnswer(found), text: () => statsText(found, now, context) }
  },
}

/** One row for each period in which something came, and one for all. */
function statsText({ by, periods, totals, countedUntil }: Stats, now: number, context: CliContext): string {
  const times = by === 'day' ? utcTimes : context.times
  const rowOf = ({ from, ...sums }: PeriodSums): string[] => [times.text(from), ...cellsOf(sums)]
  const rows = periods.filter((period) => cellsOf(period).some((cell) => cell !== '0')).map(rowOf)
  const heading = [times.heading(by), 'deliveries', '0', '1', '2', '3', 'echoes', 'refused']
  const counting = `Only deliveries received before ${times.text(countedUntil)} are counted: the server is still counting older ones.`
  return [
    table(heading, [...rows, ['total', ...cellsOf(totals)]], context.columns),
    ...reasons('Refused deliveries', totals.refusals),
    ...reasons('Refused logins', totals.refusedLogins),
    ...(countedUntil < now ? [counting] : []),
  ].join('\n')
}

const cellsOf = ({ byStatus, echoes, refusals, refusedLogins }: Sums): string[] => {
  const refused = [...Object.values(refusals), ...Object.values(refusedLogins)]
  return [sum(byStatus), ...byStatus, echoes, sum(refused)].map((count) => count.toLocaleString('en'))
}

const reasons = (what: string, codes: Record<string, number>): string[] => {
  const named = Object.entries(codes).sort(([, one], [, other]) => other - one)
  if (named.length === 0) return []
  return [`${what}: ${named.map(([code, count]) => `${code} ${count.toLocaleString('en')}`).join(', ')}`]
}
