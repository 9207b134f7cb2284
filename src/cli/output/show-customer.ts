import type { CustomerView } from '#src/customer/customer.rule.ts'

/** A customer as JSON shows it. */
export const customerJson = ({ id, email, isApi, operator, enabled, regions, authority, createdAt }: CustomerView) => ({
  id,
  email,
  isApi,
  operator,
  enabled,
  regions,
  authority,
  createdAt: new Date(createdAt).toISOString(),
})

/** A customer as people read it. */
export function describeCustomer(customer: CustomerView): string {
  const { id, email, regions, authority, createdAt } = customer
  return [
    `${email}  ${describeRole(customer)}`,
    `  id         ${id}`,
    `  regions    ${regions.join(' ')}`,
    `  delivers   ${authority.join(' ') || 'nothing yet: see teslim customer allow'}`,
    `  since      ${new Date(createdAt).toISOString()}`,
  ].join('\n')
}

export function describeRole({ isApi, operator, enabled }: CustomerView): string {
  const role = [operator ? 'operator' : '', isApi ? 'API' : 'no API'].filter(Boolean).join(', ')
  return enabled ? role : `${role}, disabled`
}
