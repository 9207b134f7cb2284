import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

/** Encrypts texts so that only holders of the secret can read or make them. */
export interface Sealer {
  /** Always returns the same text for the same purpose and value. */
  seal(purpose: string, value: string): string
  /** Returns undefined unless exactly this text was sealed for this purpose. */
  open(purpose: string, sealed: string): string | undefined
}

const TAG_BYTES = 16

/** Uses a synthetic IV as in RFC 5297, with HMAC-SHA-256 instead of CMAC, so that no nonce can repeat. */
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
      // Decoding ignores characters that are not base64url and unused bits at the end.
      if (bytes.length < TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined
      const tag = bytes.subarray(0, TAG_BYTES)
      const value = createDecipheriv('aes-256-ctr', cipherKey, tag).update(bytes.subarray(TAG_BYTES)).toString()
      return timingSafeEqual(tag, tagOf(purpose, value)) ? value : undefined
    },
  }
}
