import type { Clock } from '#src/lib/clock.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import type { SigningKey, SigningKeyStore } from '#src/store/store.ts'
import type { KeySealing } from './key-sealing.ts'
import { makeKey } from './usable-key.ts'

export interface RotationDependencies {
  readonly store: SigningKeyStore
  readonly sealing: KeySealing
  readonly clock: Clock
  readonly algorithm: string
  readonly ttlSeconds: number
}

/** Allows for clocks that differ, and for replicas that sign with the old key until they see the new one. */
const LATE_MILLISECONDS = 5 * 60_000
/** Limits what one key has signed, should it leak unnoticed. Nobody has to act: verifiers fetch new keys by themselves. */
const ROTATION_MILLISECONDS = 90 * DAY_MILLISECONDS

/** Finds the signing key among keys in the order of the store. A key with an expiry no longer signs. */
export const signingKeyOf = <Key extends SigningKey>(keys: Iterable<Key>, algorithm: string): Key | undefined =>
  Array.from(keys).find((key) => key.algorithm === algorithm && key.expiresAt === null)

export const hasExpired = ({ expiresAt }: SigningKey, now: number): boolean => expiresAt !== null && expiresAt <= now

export const isDue = ({ createdAt }: SigningKey, now: number): boolean => now - createdAt >= ROTATION_MILLISECONDS

export const makeFirst = async ({ store, sealing, clock, algorithm }: RotationDependencies): Promise<SigningKey> =>
  store.insertFirst(await makeKey(algorithm, clock.now(), sealing))

/**
 * Makes a new key that replaces `replaced`. The old key verifies its tokens until they have expired; with `atOnce` it stops
 * immediately.
 * Returns undefined if somebody else replaced it first.
 */
export async function rotate(
  { store, sealing, clock, algorithm, ttlSeconds }: RotationDependencies,
  replaced: SigningKey,
  atOnce = false,
): Promise<SigningKey | undefined> {
  const now = clock.now()
  // Newer than the key it replaces, even if a clock ahead of ours made that one.
  const candidate = await makeKey(algorithm, Math.max(now, replaced.createdAt + 1), sealing)
  const othersExpireAt = atOnce ? now : now + ttlSeconds * 1000 + LATE_MILLISECONDS
  return (await store.rotate(candidate, replaced.kid, othersExpireAt)) ? candidate : undefined
}
