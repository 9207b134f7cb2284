import type { Command } from './command.ts'
import { keyJson } from './show-key.ts'
import { table } from './table.ts'
import { withAccounts } from './with-accounts.ts'

export const keyList: Command = {
  name: 'key list',
  about: 'List API keys, the oldest first, with when and from where each was last used',
  options: { customer: { type: 'string', value: 'CUSTOMER', about: 'Only those of one customer' } },
  async run(input, context) {
    const rows = await withAccounts(context, async ({ apiKeys, customers }) => {
      const keys = await apiKeys.list(input.text('customer'))
      const emails = new Map((await customers.list()).map(({ id, email }) => [id, email]))
      return keys.map((key) => ({ ...keyJson(key), customer: emails.get(key.customerId) ?? '' }))
    })
    if (input.json) {
      context.out(JSON.stringify(rows))
      return
    }
    if (rows.length === 0) {
      context.out('There are no API keys yet: see teslim key issue --help.')
      return
    }
    const heading = ['id', 'customer', 'label', 'state', 'expires', 'last used', 'from']
    const cells = rows.map((row) => [
      row.id,
      row.customer,
      row.label,
      row.state,
      row.expiresAt ?? 'never',
      row.lastUsedAt ?? 'never',
      row.lastUsedFrom ?? '',
    ])
    context.out(table(heading, cells))
  },
}
