import { type CustomerView, isRemoved } from '#src/customer/customer.rule.ts'
import { isOperator, isReadOnly, rightsOf } from '#src/customer/rights.ts'
import { roleWords } from '#src/customer/roles.ts'
import { isoMilliseconds, timeText } from '#src/lib/clock.ts'
import type { Command } from '../command.ts'
import { table } from '../output/table.ts'
import { withAccounts } from '../with-accounts.ts'

export const customerList: Command = {
  name: 'customer list',
  about: 'List customers, oldest first',
  async run({ json }, context) {
    const all = await withAccounts(context, 'read', ({ customers }) => customers.list())
    if (json) context.out(JSON.stringify(all.map(customerJson)))
    else if (all.length === 0) context.out('There are no customers yet: see teslim customer add --help.')
    else {
      const rows = all.map((one) => {
        const { email, regions, id, authority } = one
        return [email, describeRole(one), regions.join(' '), id, authority.join(' ')]
      })
      context.out(table(['e-mail', 'role', 'regions', 'id', 'delivers'], rows, context.columns))
    }
  },
}

/** A customer as JSON shows it. */
export const customerJson = (customer: CustomerView) => ({
  id: customer.id,
  email: isRemoved(customer) ? null : customer.email,
  isApi: customer.isApi,
  operator: isOperator(rightsOf(customer)),
  readOnly: isReadOnly(rightsOf(customer)),
  scope: customer.scope,
  payloads: rightsOf(customer).has('payloads'),
  enabled: customer.enabled,
  regions: customer.regions,
  authority: customer.authority,
  createdAt: isoMilliseconds(customer.createdAt),
})

/** A customer as people read it. */
export function describeCustomer(customer: CustomerView): string {
  const { id, email, regions, authority, createdAt } = customer
  return [
    `${email}  ${describeRole(customer)}`,
    `  id         ${id}`,
    `  regions    ${regions.join(' ')}`,
    `  delivers   ${authority.join(' ') || 'nothing yet: see teslim customer allow'}`,
    `  added      ${timeText(createdAt)} UTC`,
  ].join('\n')
}

function describeRole(customer: CustomerView): string {
  const { isApi, scope, enabled, hasPassword } = customer
  if (isRemoved(customer)) return 'removed'
  const duties = scope === 'customer' ? [] : [roleWords(customer)]
  const logsIn = isApi
    ? `API customer${hasPassword ? '' : ' without a password'}`
    : scope === 'customer'
      ? 'supplier only'
      : 'cannot log in'
  const role = [...duties, logsIn].join(', ')
  return enabled ? role : `${role}, disabled`
}
