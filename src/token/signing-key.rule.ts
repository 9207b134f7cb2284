import { AppError } from '#src/lib/app-error.ts'
import type { SigningKey, SigningKeyRewrap } from '#src/store/store.ts'
import { isSealed } from './key-sealing.ts'
import { signingKeyErrors } from './signing-key.errors.ts'
import { hasExpired, makeFirst, type RotationDependencies, rotate, signingKeyOf } from './signing-keys.ts'
import { importKey } from './usable-key.ts'

/** A signing key without its private part, for operators. */
export interface SigningKeyView extends Omit<SigningKey, 'privateJwk'> {
  readonly state: 'signs' | 'verifies' | 'expired'
  readonly encrypted: boolean
}

export interface Rewrapped {
  readonly rewrapped: number
  /** Keys that were encrypted under the secret already. */
  readonly kept: number
}

export type SigningKeyRules = ReturnType<typeof createSigningKeyRules>

/** Concurrent changes are rare: losing more often than this means a defect. */
const MAX_TRIES = 10

/** The operators' actions on signing keys, beside running servers. */
export function createSigningKeyRules(dependencies: RotationDependencies) {
  const { store, sealing, clock, algorithm } = dependencies

  const list = async (): Promise<SigningKeyView[]> => {
    const keys = await store.list()
    const signing = signingKeyOf(keys, algorithm)
    return keys.map(({ privateJwk, ...key }) => {
      const state = hasExpired({ ...key, privateJwk }, clock.now()) ? 'expired' : 'verifies'
      return { ...key, state: key.kid === signing?.kid ? 'signs' : state, encrypted: isSealed(privateJwk) }
    })
  }

  const liveKeys = async () => (await store.list()).filter((key) => !hasExpired(key, clock.now()))

  const openedKeys = async () =>
    Promise.all((await liveKeys()).map(async (key) => ({ key, wrapping: (await importKey(key, sealing)).wrapping })))

  const rotateOnce = async (atOnce: boolean): Promise<{ kid: string; made: boolean } | undefined> => {
    // Servers could not use a new key under a wrong secret: the secret must open the existing keys first.
    const replaced = signingKeyOf(
      (await openedKeys()).map(({ key }) => key),
      algorithm,
    )
    if (replaced === undefined) {
      const { kid } = await makeFirst(dependencies)
      // A first key leaves keys of other algorithms unchanged; the next attempt replaces them.
      return atOnce ? undefined : { kid, made: true }
    }
    const made = await rotate(dependencies, replaced, atOnce)
    if (made !== undefined) return { kid: made.kid, made: true }
    const signing = signingKeyOf(await store.list(), algorithm)
    return atOnce || signing === undefined ? undefined : { kid: signing.kid, made: false }
  }

  return {
    list,

    /**
     * Pass `atOnce` for leaked keys: tokens they signed are refused within a second. Resolves to the key that signs now; `made` is false if
     * another process had just made it.
     */
    async rotate(atOnce: boolean) {
      const { kid, made } = await persistently(() => rotateOnce(atOnce))
      await store.removeExpired(clock.now())
      const key = (await list()).find((one) => one.kid === kid)
      if (key === undefined) throw new AppError(signingKeyErrors.changedMeanwhile)
      return { key, made }
    },

    /** Encrypts every key under the secret, whether it was unencrypted or under the former secret. */
    async rewrap(): Promise<Rewrapped> {
      if (!sealing.hasSecret) throw new AppError(signingKeyErrors.secretMissing)
      return persistently(async () => {
        const keys = await liveKeys()
        const changes: SigningKeyRewrap[] = []
        for (const { kid, privateJwk } of keys) {
          const { text, wrapping } = await sealing.open(kid, privateJwk)
          if (wrapping !== 'secret') changes.push({ kid, from: privateJwk, to: await sealing.seal(kid, text) })
        }
        const done = changes.length === 0 || (await store.rewrap(changes))
        return done ? { rewrapped: changes.length, kept: keys.length - changes.length } : undefined
      })
    },

    /** Resolves to how the keys are stored; rejects if one cannot be opened. */
    wrappings: async () => (await openedKeys()).map(({ wrapping }) => wrapping),
  }
}

async function persistently<Result>(attempt: () => Promise<Result | undefined>): Promise<Result> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const result = await attempt()
    if (result !== undefined) return result
  }
  throw new AppError(signingKeyErrors.changedMeanwhile)
}
