import type { Command } from '../command.ts'
import { describeState, keyJson } from '../output/show-key.ts'
import { table } from '../output/table.ts'
import { withAccounts } from '../with-accounts.ts'

export const keyList: Command = {
  name: 'key list',
  about: 'List API keys, the oldest first, with their last use and a warning 14 days before they expire',
  options: { customer: { type: 'string', value: 'CUSTOMER', about: 'Only those of one customer' } },
  async run(input, context) {
    const rows = await withAccounts(context, async ({ apiKeys, customers }) => {
      const keys = await apiKeys.list(input.text('customer'))
      const emails = new Map((await customers.list()).map(({ id, email }) => [id, email]))
      return keys.map((key) => ({ key, json: { ...keyJson(key), customer: emails.get(key.customerId) ?? '' } }))
    })
    if (input.json) {
      context.out(JSON.stringify(rows.map(({ json }) => json)))
      return
    }
    if (rows.length === 0) {
      context.out('There are no API keys yet: see teslim key issue --help.')
      return
    }
    const heading = ['id', 'customer', 'label', 'state', 'expires', 'last used', 'from']
    const now = context.clock.now()
    const cells = rows.map(({ key, json }) => [
      json.id,
      json.customer,
      json.label,
      describeState(key, now),
      json.expiresAt ?? 'never',
      json.lastUsedAt ?? 'never',
      json.lastUsedFrom ?? '',
    ])
    context.out(table(heading, cells))
  },
}
