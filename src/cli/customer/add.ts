import { DEFAULT_REGION } from '#src/customer/region.ts'
import type { Command } from '../command.ts'
import { passwordOptions, readPassword } from '../input/password.ts'
import { customerJson, describeCustomer } from '../output/show-customer.ts'
import { withAccounts } from '../with-accounts.ts'

export const customerAdd: Command = {
  name: 'customer add',
  about: 'Add a customer',
  options: {
    email: { type: 'string', value: 'ADDRESS', required: true, about: 'E-mail address it logs in with' },
    api: { type: 'boolean', about: 'It may log in to the API (IsAPI)' },
    operator: { type: 'boolean', about: 'It sees the deliveries of all customers' },
    region: {
      type: 'string',
      value: 'XX',
      multiple: true,
      about: `Region it may log in to; ${DEFAULT_REGION} if none`,
    },
    allow: { type: 'string', value: 'RULE', multiple: true, about: "Products it may deliver: a code, 'ABC-*' or '*'" },
    ...passwordOptions,
  },
  async run(input, context) {
    const { password, generated } = await readPassword(input, context)
    const regions = input.texts('region')
    const wanted = {
      email: input.text('email') ?? '',
      password,
      isApi: input.flag('api'),
      operator: input.flag('operator'),
      regions: regions.length > 0 ? regions : [DEFAULT_REGION],
      authority: input.texts('allow'),
    }
    const { customer, warnings } = await withAccounts(context, ({ customers }) => customers.add(wanted))
    for (const warning of warnings) context.err(`teslim customer add: ${warning}`)
    if (input.json) context.out(JSON.stringify({ ...customerJson(customer), ...(generated && { password }) }))
    else
      context.out(`${describeCustomer(customer)}${generated ? `\n  password   ${password}   (shown this once)` : ''}`)
  },
}
