import { customerErrors } from '#src/customer/customer.errors.ts'
import { canonicalEmail } from '#src/customer/email.ts'
import { findCustomer } from '#src/customer/find-customer.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Customer, CustomerStore } from '#src/store/store.ts'

/** Who reads. A customer sees its own, an operator sees all. */
export type Viewer = { readonly operator: true } | { readonly operator: false; readonly customer: Customer }

export const OPERATOR: Viewer = { operator: true }

/** From what the token opens. */
export const viewerOf = ({ access }: { access: { customer: Customer; scope: string } }): Viewer =>
  access.scope === 'operator' ? OPERATOR : { operator: false, customer: access.customer }

export const maySee = (viewer: Viewer, customerId: string): boolean =>
  viewer.operator || viewer.customer.id === customerId

/**
 * The customer whose data is meant by an id or e-mail address, or by none; undefined is everybody's. To one who is no operator,
 * somebody else is the same as nobody, without being looked for.
 */
export async function ownerOf(
  viewer: Viewer,
  who: string | undefined,
  customers: CustomerStore,
): Promise<string | undefined> {
  if (who === undefined) return viewer.operator ? undefined : viewer.customer.id
  const found = viewer.operator ? await findCustomer(customers, who) : oneself(viewer.customer, who)
  if (found === undefined) throw new AppError(customerErrors.notFound)
  return found.id
}

const oneself = (customer: Customer, who: string): Customer | undefined =>
  who === customer.id || canonicalEmail(who) === customer.email ? customer : undefined
