import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { newId } from '#src/lib/ids.ts'
import type { Random } from '#src/lib/random.ts'
import type { ApiKey, ApiKeyUse, Store } from '#src/store/store.ts'
import { hashApiKey, makeApiKey } from './api-key.ts'
import { customerErrors } from './customer.errors.ts'
import type { Customers } from './customer.rule.ts'

export interface ApiKeyDependencies {
  readonly store: Store
  readonly customers: Customers
  readonly clock: Clock
  readonly random: Random
}

export type KeyState = 'live' | 'expired' | 'revoked'

/** A key as operators see it: without its hash. */
export interface ApiKeyView extends Omit<ApiKey, 'hash'> {
  readonly state: KeyState
  readonly lastUse: Pick<ApiKeyUse, 'usedAt' | 'address'> | null
}

export interface IssuedKey {
  readonly view: ApiKeyView
  /** Shown now and never again. */
  readonly key: string
}

export type ApiKeys = ReturnType<typeof createApiKeys>

const LONGEST_LABEL = 100

/** What operators do with the keys of customers. */
export function createApiKeys({ store, customers, clock, random }: ApiKeyDependencies) {
  return {
    async issue(who: string, label: string, lifetimeMilliseconds?: number): Promise<IssuedKey> {
      if (label.length > LONGEST_LABEL || !label.isWellFormed() || /\p{Cc}/u.test(label)) {
        throw new AppError(customerErrors.labelInvalid)
      }
      const { id: customerId } = await customers.show(who)
      const key = makeApiKey(random)
      const now = clock.now()
      const expiresAt = lifetimeMilliseconds === undefined ? null : now + lifetimeMilliseconds
      const issued: ApiKey = {
        id: newId(now, random),
        customerId,
        hash: hashApiKey(key),
        label,
        createdAt: now,
        expiresAt,
        revokedAt: null,
      }
      await store.apiKeys.insert(issued)
      return { view: toView({ ...issued, lastUse: null }, now), key }
    },

    async list(who?: string): Promise<ApiKeyView[]> {
      const customerId = who === undefined ? undefined : (await customers.show(who)).id
      return (await store.apiKeys.list(customerId)).map((key) => toView(key, clock.now()))
    },

    async revoke(id: string): Promise<ApiKeyView> {
      const found = await store.apiKeys.revoke(id, clock.now())
      const key = found && (await store.apiKeys.list()).find((one) => one.id === id)
      if (!key)
        throw new AppError(customerErrors.keyNotFound, { message: `There is no API key ${JSON.stringify(id)}.` })
      return toView(key, clock.now())
    },
  }
}

/** A key opens nothing from the moment it expires or is revoked. */
export function keyState({ expiresAt, revokedAt }: ApiKey, now: number): KeyState {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'live'
}

function toView(key: ApiKey & { lastUse: ApiKeyUse | null }, now: number): ApiKeyView {
  const { hash: _, lastUse, ...view } = key
  const use = lastUse && { usedAt: lastUse.usedAt, address: lastUse.address }
  return { ...view, state: keyState(key, now), lastUse: use }
}
