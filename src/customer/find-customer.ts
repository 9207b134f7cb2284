import { AppError } from '#src/lib/app-error.ts'
import { asciiLowerCase, isStorable } from '#src/lib/text.ts'
import type { Customer, CustomerStore } from '#src/store/store.ts'
import { canonicalEmail } from './credentials.ts'
import { customerErrors } from './customer.errors.ts'

/** Whether `who` is the e-mail address or the id of a customer. */
export const isCustomer = ({ id, email }: Customer, who: string): boolean => who === id || canonicalEmail(who) === email

/** `who` is an e-mail address or an id. */
export async function findCustomer(customers: CustomerStore, who: string): Promise<Customer | undefined> {
  const email = canonicalEmail(who)
  if (email !== undefined) return customers.findByEmail(email)
  return isStorable(who) ? customers.findById(who) : undefined
}

/** The sender of a request. An operator sees the data of all customers; an API customer or a supplier sees its own. */
export type Caller = { readonly seesAll: true } | { readonly seesAll: false; readonly customer: Customer }

/** The caller of a command, and of a route for operators. */
export const OPERATOR: Caller = { seesAll: true }

export const maySee = (caller: Caller, customerId: string | null): boolean =>
  caller.seesAll || caller.customer.id === customerId

/**
 * Returns the id of the customer whose data the caller asks for, by id or e-mail address; undefined stands for all customers. A caller
 * that asks for somebody else without the right to it gets the answer for an unknown customer, and nobody is looked up.
 */
export async function customerAskedFor(
  caller: Caller,
  who: string | undefined,
  customers: CustomerStore,
): Promise<string | undefined> {
  if (who !== undefined) return customerNamed(caller, who, customers)
  return caller.seesAll ? undefined : caller.customer.id
}

/** Does the same for a request that names a customer. */
export async function customerNamed(caller: Caller, who: string, customers: CustomerStore): Promise<string> {
  if (!caller.seesAll && isCustomer(caller.customer, who)) return caller.customer.id
  const found = caller.seesAll ? await findCustomer(customers, who) : undefined
  if (found === undefined) throw new AppError(customerErrors.notFound)
  return found.id
}

const AT_ONCE = 500

/** Reads all customers, oldest first. */
export async function allCustomers({ list }: Pick<CustomerStore, 'list'>): Promise<Customer[]> {
  const all: Customer[] = []
  for (let page = await list({ limit: AT_ONCE }); page.length > 0; ) {
    all.push(...page)
    page = await list({ afterId: page.at(-1)?.id ?? '', limit: AT_ONCE })
  }
  return all
}

const SCANNED_AT_ONCE = 10_000

/** Reads the customers that have a text in name, note or e-mail address, or at the beginning of the id; oldest first. */
export async function customersWith({ search }: Pick<CustomerStore, 'search'>, text: string): Promise<Customer[]> {
  const all: Customer[] = []
  const bounds = { limit: AT_ONCE, scan: SCANNED_AT_ONCE }
  for (let after: string | null = ''; after !== null; ) {
    const page = await search({ text: asciiLowerCase(text) }, after, bounds)
    all.push(...page.customers)
    after = page.next
  }
  return all
}
