import { hash, parseOptions, verify } from '@node-rs/argon2'
import { systemRandom } from '#src/lib/random.ts'
import type { Passwords } from './login.rule.ts'

/** Argon2id: 2 is its number in the library, whose `const enum` type stripping cannot read. */
export const ARGON2 = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

const phcPart = (bytes: number): string => Buffer.from(systemRandom(bytes)).toString('base64').replace(/=+$/, '')
const NAMES = Object.keys(ARGON2) as (keyof typeof ARGON2)[]

/** Makes and verifies PHC strings off the event loop. A server does both in hash-workers.ts. */
export const passwords: Passwords = {
  hash: (password) => hash(password, ARGON2),
  verify: (passwordHash, password) => verify(passwordHash, password),
  isOutdated(passwordHash) {
    const made = parseOptions(passwordHash)
    return NAMES.some((name) => made[name] !== ARGON2[name])
  },
  unmatched: `$argon2id$v=19$m=${ARGON2.memoryCost},t=${ARGON2.timeCost},p=${ARGON2.parallelism}$${phcPart(16)}$${phcPart(32)}`,
}
