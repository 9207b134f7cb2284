import { randomBytes } from 'node:crypto'

/** Unpredictable bytes. Handed in, so that a test can choose them. */
export type Random = (length: number) => Uint8Array

export const systemRandom: Random = (length) => randomBytes(length)

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const LARGEST_FAIR_BYTE = 256 - (256 % BASE62.length)

/** Letters and digits only, so that it can be pasted into a shell, a URL or a header unquoted: 5.95 bits a character. */
export function randomText(length: number, random: Random): string {
  let text = ''
  while (text.length < length) {
    for (const byte of random(length)) {
      // Bytes beyond the last whole multiple of 62 would make the first letters likelier.
      if (byte < LARGEST_FAIR_BYTE && text.length < length) text += BASE62[byte % BASE62.length]
    }
  }
  return text
}
