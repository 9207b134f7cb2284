import type { Signer } from './signer.ts'
import type { UsableKey } from './usable-key.ts'

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

/** Signs a JWS in compact form (RFC 7515). */
export async function signCompact(header: object, claims: object, key: UsableKey, signer: Signer): Promise<string> {
  const signed = `${encode(header)}.${encode(claims)}`
  return `${signed}.${await signer.sign(signed, key)}`
}
