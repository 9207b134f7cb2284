import { AppError, refuse } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import { hasHidden } from '#src/lib/printable.ts'
import { newId, type Random } from '#src/lib/random.ts'
import type { ApiKey, ApiKeyUse, ListedApiKey, Store } from '#src/store/store.ts'
import { digestApiKey, type KeyState, keyState, makeApiKey, storedHash } from './api-key.ts'
import { customerErrors } from './customer.errors.ts'
import type { Customers } from './customer.rule.ts'
import { checkNetworks } from './networks.ts'

interface ApiKeyDependencies {
  readonly store: Store
  readonly customers: Customers
  readonly clock: Clock
  readonly random: Random
}

/** An API key without its hash, for operators. */
export interface ApiKeyView extends Omit<ApiKey, 'hash'> {
  readonly state: KeyState
  /** Live, but expires within two weeks. */
  readonly expiresSoon: boolean
  readonly lastUse: Pick<ApiKeyUse, 'usedAt' | 'address'> | null
}

/** What limits a key. */
export interface KeyLimits {
  /** Where it may be used from, in any spelling; null for anywhere. */
  readonly networks?: readonly string[] | null | undefined
  /** Deliveries a minute, 0 for no limit; null for that of the server. */
  readonly rateLimit?: number | null | undefined
}

/** A new key. */
export interface NewKey extends KeyLimits {
  /** Milliseconds since 1970, instead of a lifetime. */
  readonly expiresAt?: number | undefined
}

/** Changes to a key. What is not given stays. */
interface KeySettings extends KeyLimits {
  readonly label?: string | undefined
  /** From now on; null for forever. */
  readonly lifetimeMilliseconds?: number | null | undefined
}

export interface Rotation {
  /** How long the old key keeps working. */
  readonly overlapMilliseconds: number
  /** Lifetime of the new key; defaults to that of the old one. */
  readonly lifetimeMilliseconds?: number | undefined
  /** When the new key expires, in milliseconds since 1970, instead of a lifetime. */
  readonly expiresAt?: number | undefined
}

export type ApiKeys = ReturnType<typeof createApiKeys>

const MAX_LABEL_LENGTH = 100
export const SOON_MILLISECONDS = 14 * DAY_MILLISECONDS

/** The operators' actions on API keys. */
export function createApiKeys({ store, customers, clock, random }: ApiKeyDependencies) {
  const find = async (id: string): Promise<ListedApiKey> =>
    (await store.apiKeys.findById(id)) ??
    refuse(customerErrors.keyNotFound, `There is no API key ${JSON.stringify(id)}.`)

  const make = (
    { customerId, label, networks, rateLimit }: Pick<ApiKey, 'customerId' | 'label' | 'networks' | 'rateLimit'>,
    lifetimeMilliseconds: number | undefined,
    expiresAt: number | undefined,
  ) => {
    const key = makeApiKey(random)
    const now = clock.now()
    const end = lifetimeMilliseconds === undefined ? null : now + lifetimeMilliseconds
    const made: ApiKey = {
      id: newId(now, random),
      customerId,
      hash: storedHash(digestApiKey(key)),
      label,
      createdAt: now,
      expiresAt: expiresAt ?? end,
      revokedAt: null,
      successorId: null,
      networks,
      rateLimit,
    }
    // The key is shown once: only its hash is stored.
    return { made, issued: { view: toView({ ...made, lastUse: null }, now), key } }
  }

  return {
    async issue(who: string, label: string, lifetimeMilliseconds?: number, wanted: NewKey = {}) {
      const { networks = null, rateLimit = null } = checkKeySettings({ ...wanted, label })
      const { id: customerId } = await customers.showNotRemoved(who)
      const { made, issued } = make({ customerId, label, networks, rateLimit }, lifetimeMilliseconds, wanted.expiresAt)
      await store.apiKeys.insert(made)
      return issued
    },

    /** Issues a key with the same customer, label, limits and lifetime; the old one ends after the overlap, or earlier if it expires. */
    async rotate(id: string, { overlapMilliseconds, lifetimeMilliseconds, expiresAt }: Rotation) {
      const old = await find(id)
      refuseRotation(old, clock.now())
      const lifetime = lifetimeMilliseconds ?? (old.expiresAt === null ? undefined : old.expiresAt - old.createdAt)
      const { made, issued } = make(old, lifetime, expiresAt)
      const now = made.createdAt
      if (!(await store.apiKeys.rotate(id, made, { now, endsAt: now + overlapMilliseconds }))) {
        // Somebody else revoked or rotated it meanwhile.
        refuseRotation(await find(id), clock.now())
        throw new Error(`key ${id} could not be rotated`)
      }
      return { ...issued, replaced: toView(await find(id), now) }
    },

    /** Changes a key. May give an expired one more time; a revoked one cannot be changed. */
    async set(id: string, wanted: KeySettings): Promise<ApiKeyView> {
      const { label, lifetimeMilliseconds: lifetime, networks, rateLimit } = checkKeySettings(wanted)
      const expiresAt = typeof lifetime === 'number' ? clock.now() + lifetime : lifetime
      const changed = await store.apiKeys.change(id, { label, expiresAt, networks, rateLimit })
      const key = await find(id)
      if (!changed) refuse(customerErrors.keyEnded, `API key ${id} is revoked and cannot be changed: issue a new one.`)
      return toView(key, clock.now())
    },

    async list(who?: string): Promise<ApiKeyView[]> {
      const customerId = who === undefined ? undefined : (await customers.showNotRemoved(who)).id
      return (await store.apiKeys.list(customerId)).map((key) => toView(key, clock.now()))
    },

    async revoke(id: string): Promise<ApiKeyView> {
      await store.apiKeys.revoke(id, clock.now())
      return toView(await find(id), clock.now())
    },
  }
}

/** Checks what can be checked without a store, and returns it as it is stored. */
export function checkKeySettings(wanted: KeySettings): KeySettings {
  const { label = '', networks } = wanted
  if (label.length > MAX_LABEL_LENGTH || hasHidden(label)) throw new AppError(customerErrors.labelInvalid)
  return networks ? { ...wanted, networks: checkNetworks(networks) } : wanted
}

export function toView(key: ListedApiKey, now: number): ApiKeyView {
  const { hash: _, lastUse, ...view } = key
  const use = lastUse && { usedAt: lastUse.usedAt, address: lastUse.address }
  const state = keyState(key, now)
  const expiresSoon = state === 'live' && key.expiresAt !== null && key.expiresAt - now <= SOON_MILLISECONDS
  return { ...view, state, expiresSoon, lastUse: use }
}

function refuseRotation(key: ApiKey, now: number): void {
  const { id, successorId } = key
  if (successorId !== null)
    refuse(
      customerErrors.keyRotated,
      `API key ${id} was rotated already: ${successorId} took its place. If that one is lost, revoke it and issue a new one.`,
    )
  const state = keyState(key, now)
  if (state !== 'live')
    refuse(customerErrors.keyEnded, `API key ${id} is ${state} and cannot be rotated: issue a new one.`)
}
