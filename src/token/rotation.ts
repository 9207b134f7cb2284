import type { Clock } from '#src/lib/clock.ts'
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

/** For clocks that differ, and for replicas that sign with the old key until they learn of the new one. */
const LATE_MILLISECONDS = 5 * 60_000
const DAY_MILLISECONDS = 86_400_000

/** Among keys as the store lists them. A key that is to expire signs no more. */
export const signingKeyOf = <Key extends SigningKey>(keys: Iterable<Key>, algorithm: string): Key | undefined =>
  Array.from(keys).find((key) => key.algorithm === algorithm && key.expiresAt === null)

export const hasExpired = ({ expiresAt }: SigningKey, now: number): boolean => expiresAt !== null && expiresAt <= now

export const isDue = ({ createdAt }: SigningKey, days: number, now: number): boolean =>
  days > 0 && now - createdAt >= days * DAY_MILLISECONDS

export const makeFirst = async ({ store, sealing, clock, algorithm }: RotationDependencies): Promise<SigningKey> =>
  store.insertFirst(await makeKey(algorithm, clock.now(), sealing))

/**
 * A new key in the place of `replaced`, which verifies until its last token has expired, or nothing more when `atOnce`.
 * Undefined when somebody else has put another one there first.
 */
export async function rotate(
  { store, sealing, clock, algorithm, ttlSeconds }: RotationDependencies,
  replaced: SigningKey,
  atOnce = false,
): Promise<SigningKey | undefined> {
  const now = clock.now()
  // Newer than the one it replaces, even where that was made by a clock that runs ahead of ours.
  const candidate = await makeKey(algorithm, Math.max(now, replaced.createdAt + 1), sealing)
  const othersExpireAt = atOnce ? now : now + ttlSeconds * 1000 + LATE_MILLISECONDS
  return (await store.rotate(candidate, replaced.kid, othersExpireAt)) ? candidate : undefined
}
