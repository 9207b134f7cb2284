import type { Command } from '../command.ts'
import { passwordOptions, readPassword } from '../input/password.ts'
import { customerJson } from '../output/show-customer.ts'
import { withAccounts } from '../with-accounts.ts'

export const customerSetPassword: Command = {
  name: 'customer set-password',
  about: 'Give a customer a new password; its tokens end at once',
  positionals: ['CUSTOMER'],
  options: passwordOptions,
  async run(input, context) {
    const [who = ''] = input.positionals
    const { password, generated } = await readPassword(input, context)
    const { customer, warnings } = await withAccounts(context, ({ customers }) => customers.setPassword(who, password))
    for (const warning of warnings) context.err(`teslim customer set-password: ${warning}`)
    if (input.json) context.out(JSON.stringify({ ...customerJson(customer), ...(generated && { password }) }))
    else context.out(`${customer.email} has a new password${generated ? `: ${password}   (shown this once)` : '.'}`)
  },
}
