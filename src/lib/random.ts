import { randomBytes } from 'node:crypto'

/** Unpredictable bytes. Handed in, so that a test can choose them. */
export type Random = (length: number) => Buffer

/** Drawn from the system by the pool: asking it for ten bytes at a time costs more than the request they are for. */
const POOL_BYTES = 4096
let pool = Buffer.alloc(0)
let used = 0

export const systemRandom: Random = (length) => {
  if (used + length > pool.length) {
    pool = randomBytes(Math.max(POOL_BYTES, length))
    used = 0
  }
  used += length
  return pool.subarray(used - length, used)
}

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
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
