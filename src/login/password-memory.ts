import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '#src/lib/clock.ts'
import type { Random } from '#src/lib/random.ts'
import type { Customer } from '#src/store/store.ts'

/** Passwords that were verified a short while ago, as digests that mean nothing outside this process. */
export interface PasswordMemory {
  recognises(customer: Customer, password: string): boolean
  remember(customer: Customer, password: string): void
}

export interface PasswordMemoryOptions {
  /** How long a password is remembered after it was verified; 0 is not at all. */
  readonly seconds: number
  readonly random: Random
  readonly clock: Clock
}

interface Remembered {
  readonly digest: Buffer
  readonly until: number
}

const MOST_REMEMBERED = 10_000
const KEY_BYTES = 32

export function createPasswordMemory({ seconds, random, clock }: PasswordMemoryOptions): PasswordMemory {
  const key = random(KEY_BYTES)
  const remembered = new Map<string, Remembered>()

  /** Over the stored hash too: a new password is another hash, and the old one is recognised no more. */
  const digestOf = ({ id, passwordHash }: Customer, password: string): Buffer =>
    createHmac('sha256', key).update(`${id}\0${passwordHash}\0${password}`).digest()

  return {
    recognises(customer, password) {
      const entry = remembered.get(customer.id)
      if (entry === undefined) return false
      if (entry.until <= clock.monotonic()) {
        remembered.delete(customer.id)
        return false
      }
      return timingSafeEqual(entry.digest, digestOf(customer, password))
    },
    remember(customer, password) {
      if (seconds === 0) return
      // Put at the end again, so that the first is the oldest.
      remembered.delete(customer.id)
      const [oldest] = remembered.keys()
      if (remembered.size >= MOST_REMEMBERED && oldest !== undefined) remembered.delete(oldest)
      remembered.set(customer.id, { digest: digestOf(customer, password), until: clock.monotonic() + seconds * 1000 })
    },
  }
}
