import { OPERATOR } from '#src/customer/find-customer.ts'
import { createStats, statsAnswer } from '#src/purchase/stats/stats.rule.ts'
import type { Command } from './command.ts'
import { byPrefix } from './input/id-prefix.ts'
import { periodOptions, readPeriod } from './input/time.ts'
import { chart } from './output/chart.ts'
import { utcTimes } from './output/times.ts'
import { withStore } from './with-store.ts'

export const stats: Command = {
  name: 'stats',
  about: 'Draw deliveries and refusals by hour or day',
  details:
    'Shows the last 24 hours, or with --by day the last 30 days; days are days in UTC, as are those of --from and --to then. Deliveries that were purged since are counted, too. Beside a running server, refusals of the last second may be missing.',
  options: {
    customer: { type: 'string', value: 'CUSTOMER', about: 'Only of this customer: e-mail address or id' },
    ...periodOptions,
    by: {
      type: 'string',
      value: 'PERIOD',
      choices: { hour: 'at most 31 days', day: 'at most 366 days' },
      about: 'Length of a period; hour if not given',
    },
  },
  async run(input, context) {
    const now = context.clock.now()
    const customer = input.text('customer')
    const by = input.text('by') === 'day' ? 'day' : 'hour'
    const times = by === 'day' ? utcTimes : context.times
    const query = { customer, ...readPeriod(input, now, by === 'day' || input.flag('utc')), by } as const
    const found = await withStore(context, 'read', ({ rollUps, customers }) =>
      createStats({ rollUps, customers: byPrefix(customers), clock: context.clock })(OPERATOR, query),
    )
    if (input.json) context.out(JSON.stringify(statsAnswer(found)))
    else context.out(chart(found, customer, now, times, context.columns))
  },
}
