import { parseDuration } from '#src/lib/duration.ts'
import { type Command, Misuse } from './command.ts'
import { keyJson } from './show-key.ts'
import { withAccounts } from './with-accounts.ts'

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
    const until = rest.expiresAt === null ? 'until it is revoked' : `until ${rest.expiresAt}`
    context.out(`${key}\n  shown this once; valid ${until}; to revoke it: teslim key revoke ${id}`)
  },
}

function readLifetime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const lifetime = parseDuration(text)
  if (!lifetime) throw new Misuse(`--expires takes a time such as 90d, 24h or 30m, not "${text}"`)
  return lifetime
}
