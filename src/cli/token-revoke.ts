import type { Command } from './command.ts'
import { withAccounts } from './with-accounts.ts'

export const tokenRevoke: Command = {
  name: 'token revoke',
  about: 'End the access tokens that a customer has; it may log in again',
  options: {
    customer: { type: 'string', value: 'CUSTOMER', required: true, about: 'Whose tokens: e-mail address or id' },
  },
  async run(input, context) {
    const { id, email, tokensValidFrom } = await withAccounts(context, ({ customers }) =>
      customers.revokeTokens(input.text('customer') ?? ''),
    )
    const validFrom = new Date(tokensValidFrom * 1000).toISOString()
    if (input.json) context.out(JSON.stringify({ id, email, tokensValidFrom: validFrom }))
    else context.out(`The tokens that ${email} has are refused from now on.`)
  },
}
