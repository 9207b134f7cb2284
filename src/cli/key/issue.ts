import type { Command } from '../command.ts'
import { readLifetime } from '../input/time.ts'
import { keyJson, validity } from '../output/show-key.ts'
import { withAccounts } from '../with-accounts.ts'

export const keyIssue: Command = {
  name: 'key issue',
  about: 'Issue an API key to a customer; it is shown this once',
  options: {
    customer: { type: 'string', value: 'CUSTOMER', required: true, about: 'Whose key it is: e-mail address or id' },
    label: { type: 'string', value: 'TEXT', about: 'What it is for' },
    expires: {
      type: 'string',
      value: 'TIME',
      about: 'How long it is valid, such as 90d, 24h or 30m; for ever if not given',
    },
  },
  async run(input, context) {
    const lifetime = readLifetime(input.text('expires'))
    const { view, key } = await withAccounts(context, ({ apiKeys }) =>
      apiKeys.issue(input.text('customer') ?? '', input.text('label') ?? '', lifetime),
    )
    const { id, ...rest } = keyJson(view)
    if (input.json) {
      context.out(JSON.stringify({ id, key, ...rest }))
      return
    }
    context.out(`${key}\n  shown this once; ${validity(view)}; to revoke it: teslim key revoke ${id}`)
  },
}
