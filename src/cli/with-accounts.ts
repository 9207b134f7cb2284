import { createRecordAction, type RecordAction, whyNotRecorded } from '#src/audit/actions.ts'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { auditedApiKeys, auditedCustomers } from '#src/customer/audited.ts'
import { createCustomers } from '#src/customer/customer.rule.ts'
import { createSilence } from '#src/customer/silence/silence.rule.ts'
import { passwords } from '#src/login/hashing.ts'
import type { Store } from '#src/store/store.ts'
import type { CliContext } from './command.ts'
import { byPrefix, findKeyId } from './input/id-prefix.ts'
import { type Access, withStore } from './with-store.ts'

/** Opens the store for the length of one piece of work on customers and their keys. */
export const withAccounts = <Result>(
  context: CliContext,
  access: Access,
  work: (rules: ReturnType<typeof accountRules>, store: Store) => Promise<Result>,
): Promise<Result> => withStore(context, access, (store) => work(accountRules(store, context), store))

/** The rules of accounts, which write each change into the audit log. */
export function accountRules(opened: Store, context: CliContext) {
  const { clock, random } = context
  const store = { ...opened, customers: byPrefix(opened.customers) }
  const record = recordAction(store, context)
  const customers = createCustomers({ store, clock, random, hashPassword: passwords.hash })
  const apiKeys = createApiKeys({ store, customers, clock, random })
  const silence = createSilence(store, context.loadConfig().config, clock)
  return {
    customers: auditedCustomers(customers, record),
    apiKeys: auditedApiKeys(apiKeys, record),
    silence,
    /** The id of the API key that a unique prefix stands for. */
    keyIdOf: (text: string) => findKeyId(text, opened.apiKeys),
  }
}

/** Writes what a command did into the audit log. When that fails, says so on stderr, and the command goes on, but has failed. */
export const recordAction = (
  store: Store,
  { clock, actor, failed }: Pick<CliContext, 'clock' | 'actor' | 'failed'>,
): RecordAction =>
  createRecordAction({
    audit: store.audit,
    clock,
    actor: actor(),
    onFailed: (action, error) =>
      failed(`${action} is done, but could not be written to the audit log: ${whyNotRecorded(error)}`),
  })
