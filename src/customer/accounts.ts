import type { Clock } from '#src/lib/clock.ts'
import type { VersionWatch } from '#src/lib/version-watch.ts'
import type { ApiKey, ApiKeyStore, Customer } from '#src/store/store.ts'
import { keyState } from './api-key.rule.ts'
import { digestApiKey, hashApiKey, isApiKey } from './api-key.ts'
import { type Authority, compileAuthority } from './authority.ts'

/** A customer as the holder of one of its keys. */
export interface Account {
  readonly key: ApiKey
  readonly customer: Customer
  readonly authority: Authority
}

/** Why a key opens nothing, in words that must not reach who sent it. */
export interface Obstacle {
  readonly obstacle: string
  readonly customerId?: string
}

export interface Accounts {
  /** The account that a key opens now. */
  byApiKey(text: string): Promise<Account | Obstacle>
  /** The same at once where it is cached and fresh; undefined says nothing. */
  cachedByApiKey(text: string): Account | undefined
}

const MOST_CACHED = 10_000

/** Accounts by key, cached until the version changes: then everything is forgotten. */
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
    // What was read before a change was noticed must not outlive it.
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
