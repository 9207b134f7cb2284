import { type KeyObject, sign } from 'node:crypto'

/** Returns the signature part of a JWS (RFC 7515), in base64url. */
export function signatureOf(text: string, algorithm: string, key: KeyObject): string {
  const isEcdsa = algorithm === 'ES256'
  const options = isEcdsa ? ({ key, dsaEncoding: 'ieee-p1363' } as const) : key
  return sign(isEcdsa ? 'sha256' : null, Buffer.from(text), options).toString('base64url')
}
