import type { Customers, CustomerView } from '#src/customer/customer.rule.ts'
import type { Command } from '../command.ts'
import { customerJson, describeCustomer } from '../output/show-customer.ts'
import { withAccounts } from '../with-accounts.ts'

type Work = (customers: Customers, who: string, rules: readonly string[]) => Promise<CustomerView>

/** The commands that take a customer, and perhaps rules, and print the customer as it is then. */
export const customerCommand = (name: string, about: string, more: readonly string[], work: Work): Command => ({
  name,
  about,
  positionals: ['CUSTOMER', ...more],
  async run({ positionals: [who = '', ...rules], json }, context) {
    const customer = await withAccounts(context, ({ customers }) => work(customers, who, rules))
    context.out(json ? JSON.stringify(customerJson(customer)) : describeCustomer(customer))
  },
})
