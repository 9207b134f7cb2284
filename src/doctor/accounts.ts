import type { Config } from '#src/config/load-config.ts'
import type { ApiKeys, ApiKeyView } from '#src/customer/api-key.rule.ts'
import type { Customers } from '#src/customer/customer.rule.ts'
import { SANDBOX_EMAIL } from '#src/customer/sandbox.ts'
import { listed } from '#src/lib/printable.ts'
import { type Check, ok, warning } from './checks.ts'

export interface Accounts {
  readonly customers: Pick<Customers, 'list'>
  readonly apiKeys: Pick<ApiKeys, 'list'>
}

export async function checkAccounts({ customers, apiKeys }: Accounts, { environment }: Config): Promise<Check[]> {
  const enabled = new Map((await customers.list()).filter((one) => one.enabled).map(({ id, email }) => [id, email]))
  if (enabled.size === 0)
    return [warning('customers', 'none is enabled, so nobody can log in or deliver: see teslim customer add --help')]
  const found = [ok('customers', `${enabled.size} enabled`)]
  if (environment === 'production' && [...enabled.values()].includes(SANDBOX_EMAIL)) {
    const message = `${SANDBOX_EMAIL} was made for trying and may deliver anything: teslim customer disable ${SANDBOX_EMAIL}`
    found.push(warning('sandbox', message))
  }
  const keys = (await apiKeys.list()).filter(({ customerId }) => enabled.has(customerId))
  return [...found, ...checkKeys(keys, enabled)]
}

interface Expiring extends ApiKeyView {
  readonly expiresAt: number
}

/** Keys that have been replaced may expire. */
function checkKeys(keys: readonly ApiKeyView[], emails: ReadonlyMap<string, string>): Check[] {
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
    const who = listed([...locked].map((id) => emails.get(id) ?? id))
    checks.push(warning(name, `all keys of ${who} have expired: issue new ones, or disable the customer`))
  }
  const single = expired.filter(({ customerId }) => !locked.has(customerId))
  const described = (some: readonly Expiring[]): string =>
    listed(some.map(({ id, customerId, expiresAt }) => `${id} of ${emails.get(customerId)} on ${day(expiresAt)}`))
  if (single.length > 0) {
    const message = `${single.length} expired and not replaced, issue others or revoke them: ${described(single)}`
    checks.push(warning(name, message))
  }
  if (soon.length > 0) {
    const message = `${soon.length} expire within 14 days, issue others: ${described(soon)}`
    checks.push(warning(name, message))
  }
  const live = keys.filter(({ state }) => state === 'live').length
  const sound = `${live} live; none has expired or expires within 14 days without being replaced`
  return checks.length > 0 ? checks : [ok(name, sound)]
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

const day = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10)
