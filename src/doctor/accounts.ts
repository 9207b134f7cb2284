import type { Config } from '#src/config/load-config.ts'
import type { ApiKeys, ApiKeyView } from '#src/customer/api-key.rule.ts'
import type { Customers, CustomerView } from '#src/customer/customer.rule.ts'
import { SANDBOX_EMAIL } from '#src/customer/sandbox.ts'
import { type Silence, silentText } from '#src/customer/silence/silence.rule.ts'
import { type Clock, isoMilliseconds } from '#src/lib/clock.ts'
import { displayNames } from '#src/lib/display-name.ts'
import { few, type Message, message } from '#src/lib/messages/message.ts'
import { type Check, ok, warning } from './checks.ts'

export interface Accounts {
  readonly customers: Pick<Customers, 'list'>
  readonly apiKeys: Pick<ApiKeys, 'list'>
  readonly silence: Silence
  readonly clock: Clock
}

export async function checkAccounts(accounts: Accounts, { environment }: Config): Promise<Check[]> {
  const all = await accounts.customers.list()
  const enabled = all.filter((one) => one.enabled)
  if (enabled.length === 0) return [warning('customers', 'CUSTOMERS_NONE')]
  const found = [ok('customers', 'CUSTOMERS_ENABLED', { count: enabled.length })]
  if (environment === 'production' && enabled.some(({ email }) => email === SANDBOX_EMAIL))
    found.push(warning('sandbox', 'SANDBOX_ENABLED', { email: SANDBOX_EMAIL }))
  const names = displayNames(enabled)
  const keys = (await accounts.apiKeys.list()).filter(({ customerId }) => names.has(customerId))
  return [...found, ...checkKeys(keys, names), ...(await checkSilence(all, accounts))]
}

async function checkSilence(all: readonly CustomerView[], { silence, clock }: Accounts): Promise<Check[]> {
  const watched = all.filter(silence.watches)
  if (watched.length === 0) return []
  const silent = await silence.all()
  if (silent.length === 0) return [ok('suppliers', 'SUPPLIERS_HEARD', { count: watched.length })]
  const names = displayNames(watched)
  // Those that have been silent for a shorter time may be news.
  const who = silent
    .toSorted((one, other) => other.since - one.since)
    .map((one) => {
      const who = names.get(one.customerId) ?? one.customerId
      return message('SUPPLIER_SAID', { who, what: silentText(one, clock.now()) })
    })
  return [warning('suppliers', 'SUPPLIERS_SILENT', { count: silent.length, who: few(who) })]
}

interface Expiring extends ApiKeyView {
  readonly expiresAt: number
}

/** Keys that have been replaced may expire. */
function checkKeys(keys: readonly ApiKeyView[], names: ReadonlyMap<string, string>): Check[] {
  const name = 'API keys'
  const open = keys
    .filter((key): key is Expiring => key.expiresAt !== null)
    .filter((key) => !isReplaced(key, keys))
    .toSorted((one, other) => one.expiresAt - other.expiresAt)
  const soon = open.filter(({ expiresSoon }) => expiresSoon)
  const expired = open.filter(({ state }) => state === 'expired')
  const delivering = new Set(keys.filter(({ state }) => state === 'live').map(({ customerId }) => customerId))
  const locked = new Set(expired.map(({ customerId }) => customerId).filter((id) => !delivering.has(id)))
  const checks: Check[] = []
  if (locked.size > 0) {
    checks.push(warning(name, 'KEYS_ALL_EXPIRED', { who: few([...locked].map((id) => names.get(id) ?? id)) }))
  }
  const ends = ({ id, customerId, expiresAt }: Expiring): Message =>
    message('KEY_ENDS', { id, customer: names.get(customerId) ?? customerId, on: isoMilliseconds(expiresAt) })
  const single = expired.filter(({ customerId }) => !locked.has(customerId))
  if (single.length > 0)
    checks.push(warning(name, 'KEYS_EXPIRED', { count: single.length, keys: few(single.map(ends)) }))
  if (soon.length > 0) checks.push(warning(name, 'KEYS_EXPIRE_SOON', { count: soon.length, keys: few(soon.map(ends)) }))
  const live = keys.filter(({ state }) => state === 'live').length
  return checks.length > 0 ? checks : [ok(name, 'KEYS_SOUND', { live })]
}

/** Whether a live key that expires later replaces it: made by a rotation, or issued later to the same customer under the same label. */
function isReplaced({ customerId, label, createdAt, expiresAt, successorId }: Expiring, keys: readonly ApiKeyView[]) {
  const follows = (other: ApiKeyView): boolean =>
    other.id === successorId ||
    (label !== '' && other.label === label && other.customerId === customerId && other.createdAt > createdAt)
  return keys.some(
    (other) => other.state === 'live' && (other.expiresAt ?? Number.POSITIVE_INFINITY) > expiresAt && follows(other),
  )
}
