import { type Customers, createCustomers } from '#src/customer/customer.rule.ts'
import { passwords } from '#src/login/password-hashing.ts'
import { openStore } from '#src/store/open-store.ts'
import type { CliContext } from './command.ts'

/** Opens the store for the length of one piece of work on customers. */
export async function withCustomers<Result>(
  { loadConfig, clock, random }: CliContext,
  work: (customers: Customers) => Promise<Result>,
): Promise<Result> {
  const { store } = await openStore(loadConfig().config.databaseUrl, clock.now())
  try {
    return await work(createCustomers({ store, clock, random, hashPassword: passwords.hash }))
  } finally {
    await store.close()
  }
}
