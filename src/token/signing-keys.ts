import type { Clock } from '#src/lib/clock.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import { sharedWork } from '#src/lib/shared-work.ts'
import type { VersionWatch } from '#src/lib/version-watch.ts'
import type { SigningKey, SigningKeyStore } from '#src/store/store.ts'
import type { KeySealing, Wrapping } from './key-sealing.ts'
import { importKey, makeKey, type UsableKey } from './usable-key.ts'

export interface RotationDependencies {
  readonly store: SigningKeyStore
  readonly sealing: KeySealing
  readonly clock: Clock
  readonly algorithm: string
  readonly ttlSeconds: number
}

export interface SigningKeysDependencies extends RotationDependencies {
  readonly versions: VersionWatch
  readonly onRotated: (kid: string) => void
  /** Called if keys could not be renewed or deleted; the existing keys stay in use. */
  readonly onRotationFailed: (error: unknown) => void
}

export type SigningKeys = ReturnType<typeof createSigningKeys>

interface CachedKey extends SigningKey {
  readonly opened: { readonly key: UsableKey; readonly wrapping: Wrapping } | { readonly error: unknown }
}

/** Anybody can make up key ids: the store is asked about unknown ones at most this often. */
const ASK_AGAIN_MILLISECONDS = 100
/** Pause after a failed renewal. */
const ROTATE_AGAIN_MILLISECONDS = 60_000

/** Caches the store's keys and reads them again when the account version changes. */
export function createSigningKeys(dependencies: SigningKeysDependencies) {
  const { store, sealing, clock, algorithm, versions, onRotated, onRotationFailed } = dependencies
  let cached: ReadonlyMap<string, CachedKey> = new Map()
  let cachedVersion = Number.NaN
  let [begun, latest] = [0, 0]
  let asked: Promise<void> | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let rotateNotBefore = Number.NEGATIVE_INFINITY

  const open = async (key: SigningKey): Promise<CachedKey> => {
    const before = cached.get(key.kid)?.opened
    if (before && 'key' in before) return { ...key, opened: before }
    return { ...key, opened: await importKey(key, sealing).catch((error: unknown) => ({ error })) }
  }

  const reload = async (): Promise<void> => {
    const number = ++begun
    // Keys read from here on may be newer than this version, never older.
    const version = versions.version()
    const keys = await Promise.all((await store.list()).map(open))
    if (number < latest) return
    latest = number
    cached = new Map(keys.map((key) => [key.kid, key]))
    cachedVersion = version
  }
  const load = sharedWork(reload)

  const follow = async (): Promise<void> => {
    if (!versions.isFresh()) await versions.makeFresh()
    // A load that was under way may have begun before the last change.
    while (cachedVersion !== versions.version()) await load()
  }

  const live = (): CachedKey[] => [...cached.values()].filter((key) => !hasExpired(key, clock.now()))
  const signing = (): CachedKey | undefined => signingKeyOf(cached.values(), algorithm)

  const due = (): CachedKey | undefined => {
    const key = signing()
    return key && isDue(key, clock.now()) ? key : undefined
  }

  const makeOne = sharedWork(async () => {
    await makeFirst(dependencies)
    await reload()
  })

  /** Replaces the signing key if it is due, and deletes expired keys. */
  const rotateIfDue = sharedWork(async () => {
    try {
      const old = due()
      if (old !== undefined && (await rotate(dependencies, old)) !== undefined) onRotated(old.kid)
      await store.removeExpired(clock.now())
      await reload()
    } catch (error) {
      rotateNotBefore = clock.monotonic() + ROTATE_AGAIN_MILLISECONDS
      onRotationFailed(error)
    }
  })

  /** Makes sure that there is a signing key, and that it is not too old. */
  const prepare = async (): Promise<void> => {
    await follow()
    if (signing() === undefined) await makeOne()
    const wanted = due() !== undefined || live().length < cached.size
    if (wanted && clock.monotonic() >= rotateNotBefore) await rotateIfDue()
  }

  return {
    /** Opens every key; resolves to how they are stored, and rejects if one cannot be opened. */
    async openAll() {
      await follow()
      return live().map(({ opened }) => {
        if ('error' in opened) throw opened.error
        return opened.wrapping
      })
    },

    /** Returns the key that signs new tokens; makes it at the first call. */
    async current() {
      await prepare()
      const key = signing()
      if (key === undefined) throw new Error(`there is no key for ${algorithm} after one was made`)
      return usable(key)
    },

    /** Finds a key of our own store only. */
    async find(kid: string) {
      await follow()
      if (!cached.has(kid)) {
        if (clock.monotonic() - askedAt >= ASK_AGAIN_MILLISECONDS) {
          askedAt = clock.monotonic()
          asked = load()
        }
        await asked
      }
      const key = cached.get(kid)
      return key === undefined || hasExpired(key, clock.now()) ? undefined : usable(key)
    },

    /** Returns the public keys. */
    async jwks() {
      await prepare()
      return { keys: live().flatMap(({ opened }) => ('key' in opened ? [opened.key.publicJwk] : [])) }
    },
  }
}

function usable({ opened }: CachedKey): UsableKey {
  if ('error' in opened) throw opened.error
  return opened.key
}

/** Allows for clocks that differ, and for replicas that sign with the old key until they see the new one. */
const LATE_MILLISECONDS = 5 * 60_000
/** Limits what one key has signed, should it leak unnoticed. Nobody has to act: verifiers fetch new keys by themselves. */
const ROTATION_MILLISECONDS = 90 * DAY_MILLISECONDS

/** Finds the signing key among keys in the order of the store. A key with an expiry no longer signs. */
export const signingKeyOf = <Key extends SigningKey>(keys: Iterable<Key>, algorithm: string): Key | undefined =>
  Array.from(keys).find((key) => key.algorithm === algorithm && key.expiresAt === null)

export const hasExpired = ({ expiresAt }: SigningKey, now: number): boolean => expiresAt !== null && expiresAt <= now

const isDue = ({ createdAt }: SigningKey, now: number): boolean => now - createdAt >= ROTATION_MILLISECONDS

export const makeFirst = async ({ store, sealing, clock, algorithm }: RotationDependencies): Promise<SigningKey> =>
  store.insertFirst(await makeKey(algorithm, clock.now(), sealing))

/**
 * Makes a new key that replaces `replaced`. The old key verifies its tokens until they have expired; with `atOnce` until servers notice.
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
