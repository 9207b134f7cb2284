import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { BASE62, type Random, randomText } from '#src/lib/random.ts'
import type { ApiKey } from '#src/store/store.ts'

const PREFIX = 'tsl_'
/** 190 bits: 5.95 for each character. */
const RANDOM_LENGTH = 32
const CHECK_LENGTH = 6
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECK_LENGTH}}$`)

export function makeApiKey(random: Random): string {
  const body = PREFIX + randomText(RANDOM_LENGTH, random)
  return body + checkOf(body)
}

/** Checks the form and the check characters, so that a mistyped key needs no look-up. */
export function isApiKey(text: string): boolean {
  const body = text.slice(0, -CHECK_LENGTH)
  return SHAPE.test(text) && text.slice(-CHECK_LENGTH) === checkOf(body)
}

/** The hash of a key as a string of 32 characters, for maps. Its 190 random bits need no slow hash. */
export const digestApiKey = (key: string): string => hash('sha256', key, 'latin1')

/** Converts a digest to the bytes that the store has of it. */
export const storedHash = (digest: string): Buffer => Buffer.from(digest, 'latin1')

/** CRC-32 in base 62, the most significant digit first. */
function checkOf(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let i = 0; i < CHECK_LENGTH; i++) {
    text = BASE62[rest % BASE62.length] + text
    rest = Math.floor(rest / BASE62.length)
  }
  return text
}

export type KeyState = 'live' | 'expired' | 'revoked'

/** A key stops working the moment it expires or is revoked. */
export function keyState({ expiresAt, revokedAt }: ApiKey, now: number): KeyState {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'live'
}
