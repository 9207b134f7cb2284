import type { Customer, CustomerStore } from '#src/store/store.ts'
import { canonicalEmail } from './email.ts'

/** Whether `who` is the e-mail address or the id of a customer. */
export const isCustomer = ({ id, email }: Customer, who: string): boolean => who === id || canonicalEmail(who) === email

/** `who` is an e-mail address or an id. */
export async function findCustomer(customers: CustomerStore, who: string): Promise<Customer | undefined> {
  const email = canonicalEmail(who)
  if (email !== undefined) return customers.findByEmail(email)
  // A database cannot hold NUL or a lone surrogate in a text.
  return who.includes('\0') || !who.isWellFormed() ? undefined : customers.findById(who)
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
