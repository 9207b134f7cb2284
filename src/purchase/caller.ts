import { customerErrors } from '#src/customer/customer.errors.ts'
import { findCustomer, isCustomer } from '#src/customer/find-customer.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Customer, CustomerStore } from '#src/store/store.ts'

/** The customer that sends a request. An API customer sees its own data, an operator sees everything. */
export type Caller = { readonly operator: true } | { readonly operator: false; readonly customer: Customer }

export const OPERATOR: Caller = { operator: true }

/** Reads the caller from the access that its token gives. */
export const callerOf = ({ access }: { access: { customer: Customer; seesAll: boolean } }): Caller =>
  access.seesAll ? OPERATOR : { operator: false, customer: access.customer }

export const maySee = (caller: Caller, customerId: string): boolean =>
  caller.operator || caller.customer.id === customerId

/**
 * Returns the id of the customer whose data the caller asks for, by id or e-mail address; undefined stands for all customers. An
 * API customer that asks for somebody else gets the answer for an unknown customer, and nobody is looked up.
 */
export async function customerAskedFor(
  caller: Caller,
  who: string | undefined,
  customers: CustomerStore,
): Promise<string | undefined> {
  if (who === undefined) return caller.operator ? undefined : caller.customer.id
  if (!caller.operator && isCustomer(caller.customer, who)) return caller.customer.id
  const found = caller.operator ? await findCustomer(customers, who) : undefined
  if (found === undefined) throw new AppError(customerErrors.notFound)
  return found.id
}
