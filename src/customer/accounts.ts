import type { Clock } from '#src/lib/clock.ts'
import { createVersionedCache, type VersionWatch } from '#src/lib/version-watch.ts'
import type { ApiKey, ApiKeyStore, Customer } from '#src/store/store.ts'
import { keyState } from './api-key.rule.ts'
import { digestApiKey, hashApiKey, isApiKey } from './api-key.ts'
import { type Authority, compileAuthority } from './authority.ts'
import { compileNetworks, type Networks } from './networks.ts'

/** An API key with its customer and authority, and what limits it. */
export interface Account {
  readonly key: ApiKey
  readonly customer: Customer
  readonly authority: Authority
  /** Where the key may be used from; null for anywhere. */
  readonly networks: Networks | null
}

/** Why a key is refused. For the log only, never for the caller. */
export interface Obstacle {
  readonly obstacle: string
  readonly customerId?: string
  readonly keyId?: string
}

export interface Accounts {
  /** Finds the account of a key that is sent from an address, or why the key is refused. */
  byApiKey(text: string, address: string): Promise<Account | Obstacle>
  /** Returns the account at once if it is cached and fresh; undefined means not known here. */
  cachedByApiKey(text: string, address: string): Account | undefined
}

/** Caches accounts by key until any account changes. */
export function createAccounts(apiKeys: ApiKeyStore, versions: VersionWatch, clock: Clock): Accounts {
  const cached = createVersionedCache<Account>(versions)

  const obstacleTo = ({ key, customer, networks }: Account, address: string): Obstacle | undefined => {
    const state = keyState(key, clock.now())
    const ids = { customerId: customer.id, keyId: key.id }
    if (state !== 'live') return { obstacle: `key ${key.id} is ${state}`, ...ids }
    if (!customer.enabled) return { obstacle: 'customer is disabled', ...ids }
    if (networks === null || networks.contain(address)) return undefined
    return { obstacle: `key ${key.id} may not be used from ${address}`, ...ids }
  }

  const find = async (text: string): Promise<Account | undefined> => {
    const found = isApiKey(text) ? await apiKeys.findByHash(hashApiKey(text)) : undefined
    if (found === undefined) return undefined
    const { key, customer } = found
    const networks = key.networks === null ? null : compileNetworks(key.networks)
    return { key, customer, authority: compileAuthority(customer.authority), networks }
  }

  return {
    async byApiKey(text, address) {
      if (!versions.isFresh()) await versions.makeFresh()
      const digest = digestApiKey(text)
      const account = cached.get(digest) ?? (await cached.load(digest, () => find(text)))
      return account === undefined ? { obstacle: 'unknown key' } : (obstacleTo(account, address) ?? account)
    },
    cachedByApiKey(text, address) {
      const account = versions.isFresh() ? cached.get(digestApiKey(text)) : undefined
      return account !== undefined && obstacleTo(account, address) === undefined ? account : undefined
    },
  }
}
