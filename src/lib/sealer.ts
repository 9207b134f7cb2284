import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

/** Makes texts that only the holder of the secret can read or make. */
export interface Sealer {
  /** The same for the same purpose and value, always. */
  seal(purpose: string, value: string): string
  /** Undefined for whatever was not sealed for this purpose, to the last bit. */
  open(purpose: string, sealed: string): string | undefined
}

const TAG_BYTES = 16

/** A synthetic IV as in RFC 5297, with HMAC-SHA-256 in place of CMAC: no nonce that could repeat. */
export function createSealer(secret: Uint8Array): Sealer {
  const deriveKey = (use: string) => Buffer.from(hkdfSync('sha256', secret, '', use, 32))
  const [tagKey, cipherKey] = [deriveKey('tag'), deriveKey('cipher')]
  const tagOf = (purpose: string, value: string): Buffer =>
    createHmac('sha256', tagKey)
      .update(JSON.stringify([purpose, value]))
      .digest()
      .subarray(0, TAG_BYTES)

  return {
    seal(purpose, value) {
      const tag = tagOf(purpose, value)
      return Buffer.concat([tag, createCipheriv('aes-256-ctr', cipherKey, tag).update(value)]).toString('base64url')
    },
    open(purpose, sealed) {
      const bytes = Buffer.from(sealed, 'base64url')
      // Decoding passes over what is no base64url, and over the bits after the last byte.
      if (bytes.length < TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined
      const tag = bytes.subarray(0, TAG_BYTES)
      const value = createDecipheriv('aes-256-ctr', cipherKey, tag).update(bytes.subarray(TAG_BYTES)).toString()
      return timingSafeEqual(tag, tagOf(purpose, value)) ? value : undefined
    },
  }
}
