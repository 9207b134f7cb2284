import type { Command } from './command.ts'
import { limitOption, readLimit } from './input/limit.ts'
import { readMoment } from './input/time.ts'
import { eventCells, eventJson } from './output/show-event.ts'
import { tableWithin } from './output/table.ts'
import { withAccounts } from './with-accounts.ts'

const DEFAULT_LIMIT = 100

export const auditList: Command = {
  name: 'audit list',
  about: 'List what operators did and what was refused to whom, the newest last',
  options: {
    customer: { type: 'string', value: 'CUSTOMER', about: 'Only what concerns one customer: e-mail address or id' },
    action: { type: 'string', value: 'TEXT', about: 'Only actions that begin so: login, customer.dis, key.rotate' },
    from: { type: 'string', value: 'TIME', about: 'From when on: 2026-11-21T14:30:00Z, 2026-11-21 (UTC) or 24h (ago)' },
    to: { type: 'string', value: 'TIME', about: 'Until before when, in the same forms' },
    limit: limitOption(DEFAULT_LIMIT, 'the newest'),
  },
  async run(input, context) {
    const now = context.clock.now()
    const filter = {
      action: input.text('action'),
      from: readMoment('--from', input.text('from'), now),
      to: readMoment('--to', input.text('to'), now),
      limit: readLimit(input, DEFAULT_LIMIT),
    }
    const who = input.text('customer')
    const { events, emails } = await withAccounts(context, async ({ customers }, { audit }) => {
      const customerId = who === undefined ? undefined : (await customers.show(who)).id
      const events = await audit.list({ ...filter, customerId })
      return { events, emails: new Map((await customers.list()).map(({ id, email }) => [id, email])) }
    })
    if (input.json) {
      context.out(JSON.stringify(events.map(eventJson)))
      return
    }
    if (events.length === 0) {
      context.out('The audit log has no such event.')
      return
    }
    const heading = ['time (UTC)', 'action', 'by', 'customer', 'what']
    const cells = events.map((event) => eventCells(event, emails.get(event.customerId ?? '')))
    context.out(tableWithin(context.columns ?? Number.POSITIVE_INFINITY, heading, cells))
  },
}
