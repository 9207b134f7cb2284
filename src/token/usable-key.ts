import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { CryptoKey } from 'jose'
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint'
import { exportJWK } from 'jose/key/export'
import { generateKeyPair } from 'jose/key/generate/keypair'
import { importJWK } from 'jose/key/import'
import type { SigningKey } from '#src/store/store.ts'
import { cannotOpen, type KeySealing, type Wrapping } from './key-sealing.ts'

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
  readonly privateKey: KeyObject
  readonly publicKey: CryptoKey
  readonly publicJwk: PublicJwk
}

/** Makes a new key in its stored form. */
export async function makeKey(algorithm: string, createdAt: number, sealing: KeySealing): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = await exportJWK(privateKey)
  const kid = await calculateJwkThumbprint(jwk)
  const privateJwk = await sealing.seal(kid, JSON.stringify(jwk))
  return { kid, algorithm, privateJwk, createdAt, expiresAt: null }
}

/** Throws SIGNING_KEY_CANNOT_OPEN. */
export async function importKey(
  { kid, algorithm, privateJwk }: SigningKey,
  sealing: KeySealing,
): Promise<{ key: UsableKey; wrapping: Wrapping }> {
  const { text, wrapping } = await sealing.open(kid, privateJwk)
  try {
    const { d, ...publicHalf } = JSON.parse(text) as PublicJwk & { d: string }
    const privateKey = createPrivateKey({ key: { ...publicHalf, d }, format: 'jwk' })
    const publicKey = (await importJWK({ ...publicHalf }, algorithm)) as CryptoKey
    const publicJwk: PublicJwk = { ...publicHalf, kid, alg: algorithm, use: 'sig' }
    return { key: { kid, algorithm, privateKey, publicKey, publicJwk }, wrapping }
  } catch {
    // Leaves the cause out, because it would quote the key.
    throw cannotOpen(kid, 'its row is damaged')
  }
}
