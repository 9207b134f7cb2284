import { displayName } from '#src/lib/display-name.ts'
import type { Command } from '../command.ts'
import { withAccounts } from '../with-accounts.ts'

export const tokenRevoke: Command = {
  name: 'token revoke',
  about: 'Revoke all access tokens of a customer; it may log in again',
  options: { customer: { value: 'CUSTOMER', required: true, about: 'The customer: e-mail address or id' } },
  async run(input, context) {
    const customer = await withAccounts(context, 'change', ({ customers }) =>
      customers.revokeTokens(input.text('customer') ?? ''),
    )
    return {
      json: { id: customer.id, email: customer.email },
      text: () => `The access tokens of ${displayName(customer)} are revoked.`,
    }
  },
}
