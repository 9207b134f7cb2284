import { createVersionedCache, type VersionWatch } from '#src/lib/version-watch.ts'
import type { ConsoleSessionStore, Customer, CustomerStore } from '#src/store/store.ts'

/** Finds customers as they are now. */
export type CurrentCustomers = Pick<CustomerStore, 'findById' | 'findByEmail'>

/** Reads the version of the accounts each time, which is cheaper than a customer, and a customer only after a change. */
export function createCurrentCustomers(customers: CurrentCustomers, versions: VersionWatch): CurrentCustomers {
  // No id is an e-mail address.
  const cached = createVersionedCache<Customer>(versions)
  return {
    async findById(id) {
      await versions.readNow()
      return cached.get(id) ?? cached.load(id, () => customers.findById(id))
    },
    async findByEmail(email) {
      await versions.readNow()
      return cached.get(email) ?? cached.load(email, () => customers.findByEmail(email))
    },
  }
}

export interface SessionCheck extends Pick<ConsoleSessionStore, 'expiry'> {
  /** Whether a session has not been ended, by the version that was read when its customer was found. */
  readonly isThere: (id: string) => Promise<boolean>
}

export function createSessionCheck(
  { expiry }: Pick<ConsoleSessionStore, 'expiry'>,
  versions: VersionWatch,
): SessionCheck {
  const cached = createVersionedCache<number>(versions)
  const isThere = async (id: string) => (cached.get(id) ?? (await cached.load(id, () => expiry(id)))) !== undefined
  return { isThere, expiry }
}
