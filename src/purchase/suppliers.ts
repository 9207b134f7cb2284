import type { Config } from '#src/config/load-config.ts'
import { digestApiKey, isApiKey, keyState, storedHash } from '#src/customer/api-key.ts'
import { type Authority, compileAuthority } from '#src/customer/authority.ts'
import { compileNetworks } from '#src/customer/networks.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { type Message, message } from '#src/lib/messages/message.ts'
import type { Networks } from '#src/lib/net/networks.ts'
import { createVersionedCache, type VersionWatch } from '#src/lib/version-watch.ts'
import type { ApiKey, ApiKeyStore, ApiKeyUse, Customer } from '#src/store/store.ts'
import { purchaseErrors } from './purchase.errors.ts'

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
  readonly reason: Message
  readonly customerId?: string
  readonly keyId?: string
}

export type Suppliers = ReturnType<typeof createSuppliers>

/** Caches suppliers by key until any customer or key changes. */
export function createSuppliers(apiKeys: ApiKeyStore, versions: VersionWatch, clock: Clock) {
  const cached = createVersionedCache<Supplier>(versions)

  const reasonToRefuse = ({ key, customer, networks }: Supplier, address: string): Message | undefined => {
    const state = keyState(key, clock.now())
    if (state !== 'live') return message(state === 'revoked' ? 'KEY_IS_REVOKED' : 'KEY_IS_EXPIRED', { key: key.id })
    if (!customer.enabled) return message('CUSTOMER_IS_DISABLED')
    if (networks === null || networks.contain(address)) return undefined
    return message('KEY_OF_OTHER_NETWORK', { key: key.id, address })
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
    return supplier === undefined ? { reason: message('KEY_UNKNOWN') } : judge(supplier, address)
  }

  return {
    /** Finds the supplier of a key that is sent from an address. Needs no promise if the supplier is cached and fresh. */
    byApiKey(text: string, address: string) {
      const digest = digestApiKey(text)
      const supplier = versions.isFresh() ? cached.get(digest) : undefined
      return supplier === undefined ? find(text, digest, address) : judge(supplier, address)
    },
  }
}

export type KeyUses = ReturnType<typeof createKeyUses>

const WRITE_AFTER_MILLISECONDS = 5_000
/** After a failure. At most one use of each key waits. */
const AGAIN_MILLISECONDS = 60_000

/** Records when and from where each key was last used; writes every few seconds, not with each request. */
export function createKeyUses(store: ApiKeyStore, clock: Clock, onFailed: (error: unknown) => void) {
  let uses = new Map<string, ApiKeyUse>()
  let timer: NodeJS.Timeout | undefined

  const flush = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    const written = uses
    if (written.size === 0) return
    uses = new Map()
    try {
      await store.recordUses([...written.values()], clock.now())
    } catch (error) {
      onFailed(error)
      // Lost, a supplier that delivers once a day would count as silent.
      for (const use of written.values()) if (use.usedAt > (uses.get(use.keyId)?.usedAt ?? 0)) uses.set(use.keyId, use)
      timer ??= setTimeout(() => void flush(), AGAIN_MILLISECONDS).unref()
    }
  }

  return {
    record(keyId: string, address: string) {
      uses.set(keyId, { keyId, usedAt: clock.now(), address })
      timer ??= setTimeout(() => void flush(), WRITE_AFTER_MILLISECONDS).unref()
    },
    /** Writes what is pending. */
    flush,
  }
}

/**
 * Identifies suppliers by their API key. A bearer token that is sent as well must belong to the same customer. `verifyBearer` returns the
 * customer id of a bearer token, and throws for a token that does not verify.
 */
export function createSupplierAccess(
  suppliers: Suppliers,
  uses: KeyUses,
  bearer: Config['purchaseBearer'],
  verifyBearer: (authorization: string | undefined, address: string) => Promise<string>,
) {
  const needsBearer = (authorization: string | undefined): boolean =>
    bearer === 'required' || (bearer === 'optional' && authorization !== undefined)

  /** Explains the refusal to a client that always sends both, and would stop when its token expires. */
  const explain = (error: unknown, ids: { customerId: string; keyId: string }): never => {
    if (!(error instanceof AppError) || error.kind !== 'unauthenticated') throw error
    const { code, kind, text, details } = error
    if (bearer === 'required') throw new AppError({ code, kind, message: text }, { ...details, ...ids })
    const advice = message('LEAVE_TOKEN_OUT', { refusal: text })
    throw new AppError({ code, kind, message: advice }, { reason: message('TOKEN_BESIDE_KEY'), ...details, ...ids })
  }

  const admitWithBearer = async (supplier: Supplier, authorization: string | undefined, address: string) => {
    const { customer, key } = supplier
    const ids = { customerId: customer.id, keyId: key.id }
    const bearerId = await verifyBearer(authorization, address).catch((error: unknown) => explain(error, ids))
    if (bearerId !== customer.id) throw new AppError(purchaseErrors.tokenForeign, ids)
    uses.record(key.id, address)
    return supplier
  }
  const admit = (
    supplier: Supplier | RefusedKey,
    authorization: string | undefined,
    address: string,
  ): Supplier | Promise<Supplier> => {
    if ('reason' in supplier) throw new AppError(purchaseErrors.keyInvalid, supplier)
    if (needsBearer(authorization)) return admitWithBearer(supplier, authorization, address)
    uses.record(supplier.key.id, address)
    return supplier
  }

  /** Returns the supplier, or throws the refusal. Needs no promise if the key is cached and no token is to be checked. */
  return (
    apiKey: string | undefined,
    authorization: string | undefined,
    address: string,
  ): Supplier | Promise<Supplier> => {
    if (apiKey === undefined) throw new AppError(purchaseErrors.keyMissing)
    const found = suppliers.byApiKey(apiKey, address)
    return found instanceof Promise
      ? found.then((supplier) => admit(supplier, authorization, address))
      : admit(found, authorization, address)
  }
}
