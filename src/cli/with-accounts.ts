import { type ApiKeys, createApiKeys } from '#src/customer/api-key.rule.ts'
import { type Customers, createCustomers } from '#src/customer/customer.rule.ts'
import { passwords } from '#src/login/password-hashing.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import type { CliContext } from './command.ts'

export interface AccountRules {
  readonly customers: Customers
  readonly apiKeys: ApiKeys
}

/** Opens the store for the length of one piece of work on customers and their keys. */
export async function withAccounts<Result>(
  context: CliContext,
  work: (rules: AccountRules) => Promise<Result>,
): Promise<Result> {
  const { store } = await openStore(context.loadConfig().config, context.clock.now())
  try {
    return await work(accountRules(store, context))
  } finally {
    await store.close()
  }
}

export function accountRules(store: Store, { clock, random }: Pick<CliContext, 'clock' | 'random'>): AccountRules {
  const customers = createCustomers({ store, clock, random, hashPassword: passwords.hash })
  return { customers, apiKeys: createApiKeys({ store, customers, clock, random }) }
}
