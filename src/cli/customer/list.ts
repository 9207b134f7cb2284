import type { Command } from '../command.ts'
import { customerJson, describeRole } from '../output/show-customer.ts'
import { table } from '../output/table.ts'
import { withAccounts } from '../with-accounts.ts'

export const customerList: Command = {
  name: 'customer list',
  about: 'List the customers, the oldest first',
  async run({ json }, context) {
    const all = await withAccounts(context, ({ customers }) => customers.list())
    if (json) context.out(JSON.stringify(all.map(customerJson)))
    else if (all.length === 0) context.out('There are no customers yet: see teslim customer add --help.')
    else {
      const rows = all.map((one) => [
        one.email,
        describeRole(one),
        one.regions.join(' '),
        one.authority.join(' '),
        one.id,
      ])
      context.out(table(['e-mail', 'role', 'regions', 'delivers', 'id'], rows))
    }
  },
}
