import type { Clock } from '#src/lib/clock.ts'
import type { VersionWatch } from '#src/lib/version-watch.ts'
import type { ApiKey, ApiKeyStore, Customer } from '#src/store/store.ts'
import { keyState } from './api-key.rule.ts'
import { digestApiKey, hashApiKey, isApiKey } from './api-key.ts'
import { type Authority, compileAuthority } from './authority.ts'

/** An API key with its customer and authority. */
export interface Account {
  readonly key: ApiKey
  readonly customer: Customer
  readonly authority: Authority
}

/** Why a key is refused. For the log only, never for the caller. */
export interface Obstacle {
  readonly obstacle: string
  readonly customerId?: string
}

export interface Accounts {
  /** Finds the account of a key, or why the key is refused. */
  byApiKey(text: string): Promise<Account | Obstacle>
  /** Returns the account at once if it is cached and fresh; undefined means not known here. */
  cachedByApiKey(text: string): Account | undefined
}

const MOST_CACHED = 10_000

/** Caches accounts by key until any account changes; then clears the cache. */
export function createAccounts(apiKeys: ApiKeyStore, versions: VersionWatch, clock: Clock): Accounts {
  const cached = new Map<string, Account>()
  versions.onChange(() => cached.clear())

  const obstacleTo = ({ key, customer }: Account): Obstacle | undefined => {
    const state = keyState(key, clock.now())
    if (state !== 'live') return { obstacle: `key ${key.id} is ${state}`, customerId: customer.id }
    return customer.enabled ? undefined : { obstacle: 'customer is disabled', customerId: customer.id }
  }

  const load = async (text: string, digest: string): Promise<Account | undefined> => {
    if (!isApiKey(text)) return undefined
    const asOf = versions.version()
    const found = await apiKeys.findByHash(hashApiKey(text))
    if (found === undefined) return undefined
    const account = { ...found, authority: compileAuthority(found.customer.authority) }
    if (cached.size >= MOST_CACHED) cached.clear()
    // An account read before a change was noticed must not be cached after it.
    if (asOf === versions.version()) cached.set(digest, account)
    return account
  }

  return {
    async byApiKey(text) {
      if (!versions.isFresh()) await versions.makeFresh()
      const digest = digestApiKey(text)
      const account = cached.get(digest) ?? (await load(text, digest))
      return account === undefined ? { obstacle: 'unknown key' } : (obstacleTo(account) ?? account)
    },
    cachedByApiKey(text) {
      const account = versions.isFresh() ? cached.get(digestApiKey(text)) : undefined
      return account !== undefined && obstacleTo(account) === undefined ? account : undefined
    },
  }
}
