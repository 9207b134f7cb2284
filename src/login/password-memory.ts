import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '#src/lib/clock.ts'
import type { Random } from '#src/lib/random.ts'
import type { Customer } from '#src/store/store.ts'

/** Remembers recently verified passwords, as keyed digests that are useless outside this process. */
export type PasswordMemory = ReturnType<typeof createPasswordMemory>

const MAX_REMEMBERED = 10_000
const KEY_BYTES = 32

/** `seconds` is how long a verified password is remembered; 0 disables it. */
export function createPasswordMemory(seconds: number, random: Random, clock: Clock) {
  const key = random(KEY_BYTES)
  const remembered = new Map<string, { readonly digest: Buffer; readonly until: number }>()

  /** Includes the stored hash, so that a password change invalidates the entry. */
  const digestOf = (owner: string, passwordHash: string, password: string): Buffer =>
    createHmac('sha256', key).update(`${owner}\0${passwordHash}\0${password}`).digest()

  return {
    recognises({ id, passwordHash }: Customer, password: string) {
      const entry = remembered.get(id)
      if (entry === undefined || entry.until <= clock.monotonic()) return false
      return timingSafeEqual(entry.digest, digestOf(id, passwordHash, password))
    },
    remember({ id, passwordHash }: Customer, password: string) {
      if (seconds === 0) return
      // Moves the entry to the end, so that the first is the oldest.
      remembered.delete(id)
      const [oldest] = remembered.keys()
      if (remembered.size >= MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest)
      const until = clock.monotonic() + seconds * 1000
      remembered.set(id, { digest: digestOf(id, passwordHash, password), until })
    },
    /** Names credentials that are sent from one network: equal ones have the same name, and no other process can make it. */
    nameOf: (pair: Buffer, passwordHash: string, password: string) =>
      digestOf(pair.toString('hex'), passwordHash, password).toString('hex'),
  }
}
