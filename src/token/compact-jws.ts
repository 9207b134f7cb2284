import { sign } from 'node:crypto'
import type { UsableKey } from './usable-key.ts'

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

/**
 * A JWS in compact form (RFC 7515). Signed at once, in less time than it takes to hand the work to a thread and take the
 * signature back, as WebCrypto does; logins that need no hash consist of little else.
 */
export function signCompact(header: object, claims: object, key: UsableKey): string {
  const signed = `${encode(header)}.${encode(claims)}`
  const { algorithm, privateKey } = key
  const isEcdsa = algorithm === 'ES256'
  const signature = sign(
    isEcdsa ? 'sha256' : null,
    Buffer.from(signed),
    isEcdsa ? { key: privateKey, dsaEncoding: 'ieee-p1363' } : privateKey,
  )
  return `${signed}.${signature.toString('base64url')}`
}
