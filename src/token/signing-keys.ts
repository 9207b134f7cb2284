import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK } from 'jose'
import type { Clock } from '#src/lib/clock.ts'
import type { SigningKey, SigningKeyStore } from '#src/store/store.ts'

export interface PublicJwk {
  readonly kty: string
  readonly crv: string
  readonly x: string
  readonly y?: string
  readonly kid: string
  readonly alg: string
  readonly use: 'sig'
}

export interface UsableKey {
  readonly kid: string
  readonly algorithm: string
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
  readonly publicJwk: PublicJwk
}

export interface SigningKeys {
  /** The key that signs new tokens, made when it is first asked for. */
  current(): Promise<UsableKey>
  /** Only ever a key of our own store. */
  find(kid: string): Promise<UsableKey | undefined>
  /** Public halves. */
  jwks(): Promise<{ keys: PublicJwk[] }>
}

export function createSigningKeys(store: SigningKeyStore, algorithm: string, clock: Clock): SigningKeys {
  const usable = new Map<string, UsableKey>()
  let signing: Promise<UsableKey> | undefined

  const use = async (key: SigningKey): Promise<UsableKey> => {
    const known = usable.get(key.kid)
    if (known !== undefined) return known
    const imported = await importKey(key)
    usable.set(key.kid, imported)
    return imported
  }

  const load = async (): Promise<UsableKey[]> => Promise.all((await store.list()).map(use))

  const findOrMake = async (): Promise<UsableKey> => {
    const newest = (await load()).find((key) => key.algorithm === algorithm)
    return newest ?? use(await store.insertFirst(await makeKey(algorithm, clock.now())))
  }

  return {
    current() {
      signing ??= findOrMake().catch((error: unknown) => {
        signing = undefined
        throw error
      })
      return signing
    },
    async find(kid) {
      if (!usable.has(kid)) await load()
      return usable.get(kid)
    },
    async jwks() {
      await this.current()
      return { keys: (await load()).map((key) => key.publicJwk) }
    },
  }
}

async function makeKey(algorithm: string, createdAt: number): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = await exportJWK(privateKey)
  return { kid: await calculateJwkThumbprint(jwk), algorithm, privateJwk: JSON.stringify(jwk), createdAt }
}

async function importKey({ kid, algorithm, privateJwk }: SigningKey): Promise<UsableKey> {
  const { d, ...publicHalf } = JSON.parse(privateJwk) as PublicJwk & { d: string }
  // Extractable, or compact-jws.ts could not sign with it.
  const privateKey = (await importJWK({ ...publicHalf, d }, algorithm, { extractable: true })) as CryptoKey
  const publicKey = (await importJWK({ ...publicHalf }, algorithm)) as CryptoKey
  return { kid, algorithm, privateKey, publicKey, publicJwk: { ...publicHalf, kid, alg: algorithm, use: 'sig' } }
}
