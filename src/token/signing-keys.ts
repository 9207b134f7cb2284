import { sharedWork } from '#src/lib/shared-work.ts'
import type { VersionWatch } from '#src/lib/version-watch.ts'
import type { SigningKey } from '#src/store/store.ts'
import type { Wrapping } from './key-sealing.ts'
import { hasExpired, isDue, makeFirst, type RotationDependencies, rotate, signingKeyOf } from './rotation.ts'
import { importKey, type PublicJwk, type UsableKey } from './usable-key.ts'

export interface SigningKeysDependencies extends RotationDependencies {
  readonly versions: VersionWatch
  /** After which a new key signs; 0 for never. */
  readonly rotationDays: number
  readonly onRotated: (kid: string) => void
  /** Told when the keys could not be renewed or cleared away; those that are there go on. */
  readonly onTendingFailed: (error: unknown) => void
}

export interface SigningKeys {
  /** Opens every key there is, and rejects when one cannot be opened. Resolves to how they are stored. */
  openAll(): Promise<readonly Wrapping[]>
  /** The key that signs new tokens, made when it is first asked for. */
  current(): Promise<UsableKey>
  /** Only ever a key of our own store. */
  find(kid: string): Promise<UsableKey | undefined>
  /** Public halves. */
  jwks(): Promise<{ keys: PublicJwk[] }>
}

interface HeldKey extends SigningKey {
  readonly opened: { readonly key: UsableKey; readonly wrapping: Wrapping } | { readonly error: unknown }
}

/** Kids can be made up by anybody; the store is asked for an unknown one no more often than this. */
const ASK_AGAIN_MILLISECONDS = 100
/** A store that took no new key is left alone for so long. */
const TEND_AGAIN_MILLISECONDS = 60_000

/** The keys of the store, held in memory and read again when the version has changed. */
export function createSigningKeys(dependencies: SigningKeysDependencies): SigningKeys {
  const { store, sealing, clock, algorithm, versions, rotationDays, onRotated, onTendingFailed } = dependencies
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

  const loadAnew = async (): Promise<void> => {
    const number = ++begun
    // What is read from now on may be newer than this version, never older.
    const version = versions.version()
    const keys = await Promise.all((await store.list()).map(hold))
    if (number < latest) return
    latest = number
    held = new Map(keys.map((key) => [key.kid, key]))
    heldVersion = version
  }
  const load = sharedWork(loadAnew)

  const follow = async (): Promise<void> => {
    if (!versions.isFresh()) await versions.makeFresh()
    if (heldVersion !== versions.version()) await load()
  }

  const live = (): HeldKey[] => [...held.values()].filter((key) => !hasExpired(key, clock.now()))
  const signing = (): HeldKey | undefined => signingKeyOf(held.values(), algorithm)

  const due = (): HeldKey | undefined => {
    const key = signing()
    return key && isDue(key, rotationDays, clock.now()) ? key : undefined
  }

  const makeOne = sharedWork(async () => {
    await makeFirst(dependencies)
    await loadAnew()
  })

  /** A new key where the one that signs is old enough; those that have expired are cleared away. */
  const tend = sharedWork(async () => {
    try {
      const old = due()
      if (old !== undefined && (await rotate(dependencies, old)) !== undefined) onRotated(old.kid)
      await store.removeExpired(clock.now())
      await loadAnew()
    } catch (error) {
      tendNotBefore = clock.monotonic() + TEND_AGAIN_MILLISECONDS
      onTendingFailed(error)
    }
  })

  /** Sees to it that a key signs, and that it is not too old. */
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
