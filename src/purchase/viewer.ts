import { customerErrors } from '#src/customer/customer.errors.ts'
import { canonicalEmail } from '#src/customer/email.ts'
import { findCustomer } from '#src/customer/find-customer.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Customer, CustomerStore } from '#src/store/store.ts'

/** Who reads. A customer sees its own, an operator sees all. */
export interface Viewer {
  readonly customer: Customer
  readonly operator: boolean
}

/** From what the token opens. */
export const viewerOf = ({ access }: { access: { customer: Viewer['customer']; scope: string } }): Viewer => ({
  customer: access.customer,
  operator: access.scope === 'operator',
})

export const maySee = ({ customer, operator }: Viewer, customerId: string): boolean =>
  operator || customer.id === customerId

/**
 * The customer whose data is meant by an id or e-mail address, or by none; undefined is everybody's. To one who is no operator,
 * somebody else is the same as nobody, without being looked for.
 */
export async function ownerOf(
  { customer, operator }: Viewer,
  who: string | undefined,
  customers: CustomerStore,
): Promise<string | undefined> {
  if (who === undefined) return operator ? undefined : customer.id
  const found = operator ? await findCustomer(customers, who) : isOneself(customer, who) ? customer : undefined
  if (found === undefined) throw new AppError(customerErrors.notFound)
  return found.id
}

const isOneself = ({ id, email }: Customer, who: string): boolean => who === id || canonicalEmail(who) === email
