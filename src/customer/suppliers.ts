import type { Clock } from '#src/lib/clock.ts'
import { createVersionedCache, type VersionWatch } from '#src/lib/version-watch.ts'
import type { ApiKey, ApiKeyStore, Customer } from '#src/store/store.ts'
import { digestApiKey, isApiKey, keyState, storedHash } from './api-key.ts'
import { type Authority, compileAuthority } from './authority.ts'
import { compileNetworks, type Networks } from './networks.ts'

/** An API key with its customer and authority, and what limits it. */
export interface Supplier {
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

export interface Suppliers {
  /** Finds the supplier of a key that is sent from an address. Needs no promise if the supplier is cached and fresh. */
  byApiKey(text: string, address: string): Supplier | RefusedKey | Promise<Supplier | RefusedKey>
}

/** Caches suppliers by key until any customer or key changes. */
export function createSuppliers(apiKeys: ApiKeyStore, versions: VersionWatch, clock: Clock): Suppliers {
  const cached = createVersionedCache<Supplier>(versions)

  const reasonToRefuse = ({ key, customer, networks }: Supplier, address: string): string | undefined => {
    const state = keyState(key, clock.now())
    if (state !== 'live') return `key ${key.id} is ${state}`
    if (!customer.enabled) return 'customer is disabled'
    if (networks === null || networks.contain(address)) return undefined
    return `key ${key.id} may not be used from ${address}`
  }
  const judge = (supplier: Supplier, address: string): Supplier | RefusedKey => {
    const reason = reasonToRefuse(supplier, address)
    return reason === undefined ? supplier : { reason, customerId: supplier.customer.id, keyId: supplier.key.id }
  }

  const load = async (text: string, digest: string): Promise<Supplier | undefined> => {
    const found = isApiKey(text) ? await apiKeys.findByHash(storedHash(digest)) : undefined
    if (found === undefined) return undefined
    const { key, customer } = found
    const networks = key.networks === null ? null : compileNetworks(key.networks)
    return { key, customer, authority: compileAuthority(customer.authority), networks }
  }

  const find = async (text: string, digest: string, address: string): Promise<Supplier | RefusedKey> => {
    if (!versions.isFresh()) await versions.makeFresh()
    const supplier = cached.get(digest) ?? (await cached.load(digest, () => load(text, digest)))
    return supplier === undefined ? { reason: 'unknown key' } : judge(supplier, address)
  }

  return {
    byApiKey(text, address) {
      const digest = digestApiKey(text)
      const supplier = versions.isFresh() ? cached.get(digest) : undefined
      return supplier === undefined ? find(text, digest, address) : judge(supplier, address)
    },
  }
}
