import { sharedByTurn } from '#src/lib/shared-work.ts'
import type { Customer, Store } from '#src/store/store.ts'

/** Finds the current customer by canonical e-mail. */
export type FindCustomer = (email: string) => Promise<Customer | undefined>

const MAX_CACHED = 10_000

/** Caches customers until the store's account version changes, which is cheaper to read than a customer. */
export function createFindCustomer({ customers, accountVersion }: Pick<Store, 'customers' | 'accountVersion'>) {
  const currentVersion = sharedByTurn(accountVersion)
  const cached = new Map<string, Customer>()
  let version = -1

  const find: FindCustomer = async (email) => {
    const current = await currentVersion()
    if (current !== version) cached.clear()
    version = current
    const known = cached.get(email)
    if (known !== undefined) return known
    const customer = await customers.findByEmail(email)
    if (cached.size >= MAX_CACHED) cached.clear()
    // A customer read before a change was noticed must not be cached after it.
    if (customer !== undefined && version === current) cached.set(email, customer)
    return customer
  }
  return find
}
