import type { RecordAct } from '#src/audit/acts.ts'
import { type ApiKeys, createApiKeys } from '#src/customer/api-key.rule.ts'
import { auditedApiKeys, auditedCustomers } from '#src/customer/audited.ts'
import { type Customers, createCustomers } from '#src/customer/customer.rule.ts'
import { passwords } from '#src/login/password-hashing.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import type { CliContext } from './command.ts'
import { recordAct } from './record-act.ts'

export interface AccountRules {
  readonly customers: Customers
  readonly apiKeys: ApiKeys
  readonly record: RecordAct
}

/** Opens the store for the length of one piece of work on customers and their keys. */
export async function withAccounts<Result>(
  context: CliContext,
  work: (rules: AccountRules, store: Store) => Promise<Result>,
): Promise<Result> {
  const { store } = await openStore(context.loadConfig().config, context.clock.now())
  try {
    return await work(accountRules(store, context), store)
  } finally {
    await store.close()
  }
}

/** The rules of accounts, whose acts are in the audit log. */
export function accountRules(store: Store, context: CliContext): AccountRules {
  const { clock, random } = context
  const record = recordAct(store, context)
  const customers = createCustomers({ store, clock, random, hashPassword: passwords.hash })
  const apiKeys = createApiKeys({ store, customers, clock, random })
  return { customers: auditedCustomers(customers, record), apiKeys: auditedApiKeys(apiKeys, record), record }
}
