import { type CustomerView, isRemoved } from '#src/customer/customer.rule.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import type { Command } from '../command.ts'
import { table } from '../output/table.ts'
import type { Times } from '../output/times.ts'
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
  operator: customer.operator,
  readOnly: customer.readOnly,
  enabled: customer.enabled,
  regions: customer.regions,
  authority: customer.authority,
  createdAt: isoMilliseconds(customer.createdAt),
})

/** A customer as people read it. */
export function describeCustomer(customer: CustomerView, times: Times): string {
  const { id, email, regions, authority, createdAt } = customer
  return [
    `${email}  ${describeRole(customer)}`,
    `  id         ${id}`,
    `  regions    ${regions.join(' ')}`,
    `  delivers   ${authority.join(' ') || 'nothing yet: see teslim customer allow'}`,
    `  added      ${times.text(createdAt)}`,
  ].join('\n')
}

function describeRole({ id, email, isApi, operator, readOnly, enabled, hasPassword }: CustomerView): string {
  if (isRemoved({ id, email })) return 'removed'
  const duty = readOnly ? 'read-only operator' : 'operator'
  const role = [
    operator ? duty : '',
    isApi ? `API customer${hasPassword ? '' : ' without a password'}` : operator ? 'cannot log in' : 'supplier only',
  ]
    .filter(Boolean)
    .join(', ')
  return enabled ? role : `${role}, disabled`
}
