import { hash, parseOptions, verify } from '@node-rs/argon2'
import { systemRandom } from '#src/lib/random.ts'
import type { Passwords } from './login.rule.ts'

/** Argon2id: 2 is its number in the library, whose `const enum` type stripping cannot read. */
const PARAMETERS = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
const phcPart = (bytes: number): string => Buffer.from(systemRandom(bytes)).toString('base64').replace(/=+$/, '')
const NAMES = Object.keys(PARAMETERS) as (keyof typeof PARAMETERS)[]

/** PHC strings, salted anew each time. The work is done off the event loop. */
export const passwords: Passwords = {
  hash: (password) => hash(password, PARAMETERS),
  verify: (passwordHash, password) => verify(passwordHash, password),
  isOutdated(passwordHash) {
    const made = parseOptions(passwordHash)
    return NAMES.some((name) => made[name] !== PARAMETERS[name])
  },
  unmatched: `$argon2id$v=19$m=${PARAMETERS.memoryCost},t=${PARAMETERS.timeCost},p=${PARAMETERS.parallelism}$${phcPart(16)}$${phcPart(32)}`,
}
