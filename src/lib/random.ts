import { randomBytes } from 'node:crypto'

/** Returns unpredictable bytes. Passed as an argument, so that tests can choose them. */
export type Random = (length: number) => Buffer

/** Fetches bytes in pools: one system call for each small request would cost too much. */
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
const FAIR_BYTES = 256 - (256 % BASE62.length)

/** Makes text of letters and digits, safe in a shell, a URL or a header: 5.95 bits a character. */
export function randomText(length: number, random: Random): string {
  let text = ''
  while (text.length < length) {
    for (const byte of random(length)) {
      // Bytes from the last multiple of 62 on would favour the first characters.
      if (byte < FAIR_BYTES && text.length < length) text += BASE62[byte % BASE62.length]
    }
  }
  return text
}
