import { randomBytes } from 'node:crypto'

/** Returns unpredictable bytes. Passed as an argument, so that tests can choose them. */
export type Random = (length: number) => Buffer

/** Fetches the bytes of ids and nonces in pools: one system call for each would cost too much. */
const POOL_BYTES = 4096
/** More are of a secret, which must not lie in memory before it is needed. */
const MAX_POOLED = 12
let pool = Buffer.alloc(0)
let used = 0

export const systemRandom: Random = (length) => {
  if (length > MAX_POOLED) return randomBytes(length)
  if (used + length > pool.length) {
    pool = randomBytes(POOL_BYTES)
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

const HEX = Buffer.from('0123456789abcdef')
/** Index in the text of the two digits of each random byte. */
const PLACES = [14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const

/** Holds the last id. Concatenated strings would be flattened at each read. */
const id = Buffer.alloc(36, '-')
let lastMilliseconds = Number.NaN

/** UUID version 7 (RFC 9562): 48 bits of time, then 74 random ones. Sorts by the moment it was made. */
export function newId(nowMilliseconds: number, random: Random): string {
  const bytes = random(PLACES.length)
  bytes[0] = 0x70 | ((bytes[0] ?? 0) & 0x0f)
  bytes[2] = 0x80 | ((bytes[2] ?? 0) & 0x3f)
  // Under load many ids are made in the same millisecond.
  if (nowMilliseconds !== lastMilliseconds) writeTime(nowMilliseconds)
  for (let i = 0; i < PLACES.length; i++) {
    const byte = bytes[i] as number
    const place = PLACES[i] as number
    id[place] = HEX[byte >> 4] as number
    id[place + 1] = HEX[byte & 0x0f] as number
  }
  return id.toString('latin1')
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Returns a UUID in lower case, as it is stored; undefined for any other text. */
export const readUuid = (text: string): string | undefined => (UUID.test(text) ? text.toLowerCase() : undefined)

/** Returns when an id was made, in milliseconds since 1970; undefined for any text but a version 7 UUID. */
export function timeOfId(text: string): number | undefined {
  const id = readUuid(text)
  if (id?.[14] !== '7' || !/[89ab]/.test(id[19] ?? '')) return undefined
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

function writeTime(milliseconds: number): void {
  const digits = milliseconds.toString(16).padStart(12, '0')
  id.write(`${digits.slice(0, 8)}-${digits.slice(8)}`, 'latin1')
  lastMilliseconds = milliseconds
}
