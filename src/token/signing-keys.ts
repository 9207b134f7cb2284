import { sharedWork } from '#src/lib/shared-work.ts'
import type { VersionWatch } from '#src/lib/version-watch.ts'
import type { SigningKey } from '#src/store/store.ts'
import type { Wrapping } from './key-sealing.ts'
import { hasExpired, isDue, makeFirst, type RotationDependencies, rotate, signingKeyOf } from './rotation.ts'
import { importKey, type PublicJwk, type UsableKey } from './usable-key.ts'

export interface SigningKeysDependencies extends RotationDependencies {
  readonly versions: VersionWatch
  readonly onRotated: (kid: string) => void
  /** Called if keys could not be renewed or deleted; the existing keys stay in use. */
  readonly onTendingFailed: (error: unknown) => void
}

export interface SigningKeys {
  /** Opens every key; resolves to how they are stored, and rejects if one cannot be opened. */
  openAll(): Promise<readonly Wrapping[]>
  /** Returns the key that signs new tokens; makes it at the first call. */
  current(): Promise<UsableKey>
  /** Finds a key of our own store only. */
  find(kid: string): Promise<UsableKey | undefined>
  /** Returns the public keys. */
  jwks(): Promise<{ keys: PublicJwk[] }>
}

interface HeldKey extends SigningKey {
  readonly opened: { readonly key: UsableKey; readonly wrapping: Wrapping } | { readonly error: unknown }
}

/** Anybody can make up key ids: the store is asked about unknown ones at most this often. */
const ASK_AGAIN_MILLISECONDS = 100
/** Pause after a failed renewal. */
const TEND_AGAIN_MILLISECONDS = 60_000

/** Caches the store's keys and reads them again when the account version changes. */
export function createSigningKeys(dependencies: SigningKeysDependencies): SigningKeys {
  const { store, sealing, clock, algorithm, versions, onRotated, onTendingFailed } = dependencies
  let held: ReadonlyMap<string, HeldKey> = new Map()
  let heldVersion = Number.NaN
  let [begun, latest] = [0, 0]
  let asked: Promise<void> | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let tendNotBefore = Number.NEGATIVE_INFINITY

  const hold = async (key: SigningKey): Promise<HeldKey> => {
    const before = held.get(key.kid)?.opened
    if (before && 'key' in before) return { ...key, opened: before }
    return { ...key, opened: await importKey(key, sealing).catch((error: unknown) => ({ error })) }
  }

  const reload = async (): Promise<void> => {
    const number = ++begun
    // Keys read from here on may be newer than this version, never older.
    const version = versions.version()
    const keys = await Promise.all((await store.list()).map(hold))
    if (number < latest) return
    latest = number
    held = new Map(keys.map((key) => [key.kid, key]))
    heldVersion = version
  }
  const load = sharedWork(reload)

  const follow = async (): Promise<void> => {
    if (!versions.isFresh()) await versions.makeFresh()
    // A load that was under way may have begun before the last change.
    while (heldVersion !== versions.version()) await load()
  }

  const live = (): HeldKey[] => [...held.values()].filter((key) => !hasExpired(key, clock.now()))
  const signing = (): HeldKey | undefined => signingKeyOf(held.values(), algorithm)

  const due = (): HeldKey | undefined => {
    const key = signing()
    return key && isDue(key, clock.now()) ? key : undefined
  }

  const makeOne = sharedWork(async () => {
    await makeFirst(dependencies)
    await reload()
  })

  /** Replaces the signing key if it is due, and deletes expired keys. */
  const tend = sharedWork(async () => {
    try {
      const old = due()
      if (old !== undefined && (await rotate(dependencies, old)) !== undefined) onRotated(old.kid)
      await store.removeExpired(clock.now())
      await reload()
    } catch (error) {
      tendNotBefore = clock.monotonic() + TEND_AGAIN_MILLISECONDS
      onTendingFailed(error)
    }
  })

  /** Makes sure that there is a signing key, and that it is not too old. */
  const prepare = async (): Promise<void> => {
    await follow()
    if (signing() === undefined) await makeOne()
    const wanted = due() !== undefined || live().length < held.size
    if (wanted && clock.monotonic() >= tendNotBefore) await tend()
  }

  return {
    async openAll() {
      await follow()
      return live().map(({ opened }) => {
        if ('error' in opened) throw opened.error
        return opened.wrapping
      })
    },

    async current() {
      await prepare()
      const key = signing()
      if (key === undefined) throw new Error(`there is no key for ${algorithm} after one was made`)
      return usable(key)
    },

    async find(kid) {
      await follow()
      if (!held.has(kid)) {
        if (clock.monotonic() - askedAt >= ASK_AGAIN_MILLISECONDS) {
          askedAt = clock.monotonic()
          asked = load()
        }
        await asked
      }
      const key = held.get(kid)
      return key === undefined || hasExpired(key, clock.now()) ? undefined : usable(key)
    },

    async jwks() {
      await prepare()
      return { keys: live().flatMap(({ opened }) => ('key' in opened ? [opened.key.publicJwk] : [])) }
    },
  }
}

function usable({ opened }: HeldKey): UsableKey {
  if ('error' in opened) throw opened.error
  return opened.key
}
