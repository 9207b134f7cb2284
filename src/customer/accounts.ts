import type { Clock } from '#src/lib/clock.ts'
import { createVersionedCache, type VersionWatch } from '#src/lib/version-watch.ts'
import type { ApiKey, ApiKeyStore, Customer } from '#src/store/store.ts'
import { digestApiKey, isApiKey, keyState, storedHash } from './api-key.ts'
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

/** A key that is refused. The reason is for the log only, never for the caller. */
export interface RefusedKey {
  readonly reason: string
  readonly customerId?: string
  readonly keyId?: string
}

export interface Accounts {
  /** Finds the account of a key that is sent from an address. Needs no promise if the account is cached and fresh. */
  byApiKey(text: string, address: string): Account | RefusedKey | Promise<Account | RefusedKey>
}

/** Caches accounts by key until any account changes. */
export function createAccounts(apiKeys: ApiKeyStore, versions: VersionWatch, clock: Clock): Accounts {
  const cached = createVersionedCache<Account>(versions)

  const reasonToRefuse = ({ key, customer, networks }: Account, address: string): string | undefined => {
    const state = keyState(key, clock.now())
    if (state !== 'live') return `key ${key.id} is ${state}`
    if (!customer.enabled) return 'customer is disabled'
    if (networks === null || networks.contain(address)) return undefined
    return `key ${key.id} may not be used from ${address}`
  }
  const judge = (account: Account, address: string): Account | RefusedKey => {
    const reason = reasonToRefuse(account, address)
    return reason === undefined ? account : { reason, customerId: account.customer.id, keyId: account.key.id }
  }

  const load = async (text: string, digest: string): Promise<Account | undefined> => {
    const found = isApiKey(text) ? await apiKeys.findByHash(storedHash(digest)) : undefined
    if (found === undefined) return undefined
    const { key, customer } = found
    const networks = key.networks === null ? null : compileNetworks(key.networks)
    return { key, customer, authority: compileAuthority(customer.authority), networks }
  }

  const find = async (text: string, digest: string, address: string): Promise<Account | RefusedKey> => {
    if (!versions.isFresh()) await versions.makeFresh()
    const account = cached.get(digest) ?? (await cached.load(digest, () => load(text, digest)))
    return account === undefined ? { reason: 'unknown key' } : judge(account, address)
  }

  return {
    byApiKey(text, address) {
      const digest = digestApiKey(text)
      const account = versions.isFresh() ? cached.get(digest) : undefined
      return account === undefined ? find(text, digest, address) : judge(account, address)
    },
  }
}
