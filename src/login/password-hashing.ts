import { hash, parseOptions, verify } from '@node-rs/argon2'
import { systemRandom } from '#src/lib/random.ts'
import { ARGON2 } from './argon2.ts'
import type { Passwords } from './login.rule.ts'

const phcPart = (bytes: number): string => Buffer.from(systemRandom(bytes)).toString('base64').replace(/=+$/, '')
const NAMES = Object.keys(ARGON2) as (keyof typeof ARGON2)[]

/** PHC strings, salted anew each time. The work is done off the event loop; a server does it in hash-workers.ts. */
export const passwords: Passwords = {
  hash: (password) => hash(password, ARGON2),
  verify: (passwordHash, password) => verify(passwordHash, password),
  isOutdated(passwordHash) {
    const made = parseOptions(passwordHash)
    return NAMES.some((name) => made[name] !== ARGON2[name])
  },
  unmatched: `$argon2id$v=19$m=${ARGON2.memoryCost},t=${ARGON2.timeCost},p=${ARGON2.parallelism}$${phcPart(16)}$${phcPart(32)}`,
}
