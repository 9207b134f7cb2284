import type { Customers, CustomerView } from '#src/customer/customer.rule.ts'
import type { Command } from '../command.ts'
import { withAccounts } from '../with-accounts.ts'
import type { Access } from '../with-store.ts'
import { customerJson, describeCustomer } from './show.ts'

type Work = (customers: Customers, who: string, rules: readonly string[]) => Promise<CustomerView>

/** A command that takes a customer, and perhaps rules, and prints the customer as it is afterwards. */
const customerCommand = (
  name: string,
  about: string,
  work: Work,
  { more = [], access = 'change' }: { more?: readonly string[]; access?: Access } = {},
): Command => ({
  name,
  about,
  positionals: ['CUSTOMER', ...more],
  async run({ positionals: [who = '', ...rules], json }, context) {
    const customer = await withAccounts(context, access, ({ customers }) => work(customers, who, rules))
    context.out(json ? JSON.stringify(customerJson(customer)) : describeCustomer(customer))
  },
})

const RULES = { more: ['RULE...'] }

export const customerShow = customerCommand(
  'customer show',
  'Show one customer, by e-mail address or id',
  (customers, who) => customers.show(who),
  { access: 'read' },
)

export const customerEnable = customerCommand('customer enable', 'Enable a disabled customer', (customers, who) =>
  customers.enable(who),
)

export const customerDisable = customerCommand(
  'customer disable',
  'Disable a customer; its tokens and keys stop working immediately',
  (customers, who) => customers.disable(who),
)

export const customerAllow = customerCommand(
  'customer allow',
  'Add authority rules: products the customer may deliver',
  (customers, who, rules) => customers.allow(who, rules),
  RULES,
)

export const customerDisallow = customerCommand(
  'customer disallow',
  'Remove authority rules (exact spelling)',
  (customers, who, rules) => customers.disallow(who, rules),
  RULES,
)

export const tokenRevoke: Command = {
  name: 'token revoke',
  about: 'Revoke all access tokens of a customer; it may log in again',
  options: {
    customer: { type: 'string', value: 'CUSTOMER', required: true, about: 'The customer: e-mail address or id' },
  },
  async run(input, context) {
    const { id, email, tokensValidFrom } = await withAccounts(context, 'change', ({ customers }) =>
      customers.revokeTokens(input.text('customer') ?? ''),
    )
    const validFrom = new Date(tokensValidFrom * 1000).toISOString()
    if (input.json) context.out(JSON.stringify({ id, email, tokensValidFrom: validFrom }))
    else context.out(`The access tokens of ${email} are revoked.`)
  },
}
