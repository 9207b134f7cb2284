import type { Clock } from '#src/lib/clock.ts'
import type { ApiKey, Customer, Store } from '#src/store/store.ts'
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

/** Half of the second within which a change must be seen everywhere. */
const FRESH_MILLISECONDS = 500
const MOST_CACHED = 10_000

/**
 * Accounts by key, cached. The store's account version is asked for at most twice a second, and when it has changed
 * everything cached is forgotten.
 */
export function createAccounts(store: Pick<Store, 'apiKeys' | 'accountVersion'>, clock: Clock): Accounts {
  const cached = new Map<string, Account>()
  let version = -1
  let checkedAt = Number.NEGATIVE_INFINITY
  let underWay: Promise<void> | undefined

  const isFresh = (): boolean => clock.monotonic() - checkedAt < FRESH_MILLISECONDS

  const obstacleTo = ({ key, customer }: Account): Obstacle | undefined => {
    const state = keyState(key, clock.now())
    if (state !== 'live') return { obstacle: `key ${key.id} is ${state}`, customerId: customer.id }
    return customer.enabled ? undefined : { obstacle: 'customer is disabled', customerId: customer.id }
  }

  const forgetWhatChanged = async (): Promise<void> => {
    const asked = clock.monotonic()
    const current = await store.accountVersion()
    if (current !== version) cached.clear()
    version = current
    checkedAt = asked
  }

  /** Once for all who ask meanwhile: on a database far away many do. */
  const makeFresh = (): Promise<void> => {
    underWay ??= forgetWhatChanged().finally(() => {
      underWay = undefined
    })
    return underWay
  }

  const load = async (text: string, digest: string): Promise<Account | undefined> => {
    if (!isApiKey(text)) return undefined
    const asOf = version
    const found = await store.apiKeys.findByHash(hashApiKey(text))
    if (found === undefined) return undefined
    const account = { ...found, authority: compileAuthority(found.customer.authority) }
    if (cached.size >= MOST_CACHED) cached.clear()
    // What was read before a change was noticed must not outlive it.
    if (asOf === version) cached.set(digest, account)
    return account
  }

  return {
    async byApiKey(text) {
      if (!isFresh()) await makeFresh()
      const digest = digestApiKey(text)
      const account = cached.get(digest) ?? (await load(text, digest))
      return account === undefined ? { obstacle: 'unknown key' } : (obstacleTo(account) ?? account)
    },
    cachedByApiKey(text) {
      const account = isFresh() ? cached.get(digestApiKey(text)) : undefined
      return account !== undefined && obstacleTo(account) === undefined ? account : undefined
    },
  }
}
