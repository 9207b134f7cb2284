import { hash } from 'node:crypto'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { networkOf, siteOf } from '#src/lib/net/network.ts'
import type { LoginFailureStore, LoginFailures } from '#src/store/store.ts'
import { loginErrors } from './login.errors.ts'
import {
  type Counter,
  delayAfter,
  type FailureCounts,
  KNOWN_FOR,
  type Limit,
  limitsOf,
  mayBeMade,
  REMEMBER_AGAIN_AFTER,
  remainingDelay,
} from './throttle.rule.ts'

/** One try to log in to an account from an address. */
export interface Attempt {
  /** Names the account and the network of the address. */
  readonly pair: Buffer
  /** Whether the address logged in to the account before. */
  readonly isKnown: boolean
  /**
   * Counts a failure in advance, so that concurrent attempts cannot outrun the count. Throws LOGIN_THROTTLED if the attempt comes too
   * early.
   */
  count(): Promise<void>
  /** Forgets the failures of the account from this address, also what was counted in advance, and remembers the address as known. */
  succeeded(): Promise<void>
  /** Takes back what was counted in advance: nobody knows whether the password was right. */
  undo(): Promise<void>
}

export type Throttle = ReturnType<typeof createThrottle>

/** Name the rows of an attempt in the store: those that count failures, and one that records that the address is known. */
type Digests = Readonly<Partial<Record<Counter, Buffer>> & Record<'pair' | 'known', Buffer>>

/** One of the counts of an attempt. */
interface Count {
  readonly name: Buffer
  readonly limit: Limit
  /** What had been counted when it was read. */
  readonly before: LoginFailures | undefined
}

interface Reading {
  readonly failures: FailureCounts
  readonly counts: readonly Count[]
}

/** How long an address without failures is cached: most logins come from such addresses. */
const CLEAN_MILLISECONDS = 1000
const MAX_CLEAN = 10_000

export function createThrottle(store: LoginFailureStore, clock: Clock) {
  const clean = new Map<string, { digests: Digests; reading: Reading; until: number }>()

  /** Throws LOGIN_THROTTLED if an attempt now comes too early. */
  const read = async (digests: Digests): Promise<Reading> => {
    const now = clock.now()
    const found = await store.find(Object.values(digests), now)
    const failures: FailureCounts = Object.fromEntries(Object.keys(digests).map((key, index) => [key, found[index]]))
    const counts = limitsOf(failures).flatMap(([counter, limit]) => {
      const name = digests[counter]
      return name === undefined ? [] : [{ name, limit, before: failures[counter] }]
    })
    const delay = Math.max(...counts.map(({ before, limit }) => remainingDelay(before, limit, now)))
    if (delay > 0) throw throttled(delay)
    return { failures, counts }
  }

  const attemptOf = (digests: Digests, cached: Reading): Attempt => {
    const { pair, known } = digests
    let reading = cached
    let countedAt = 0
    /** `countedAs` is the number that the store gave the failure. */
    let counted: readonly (Count & { readonly countedAs: number })[] = []

    const countDown = () =>
      counted.map(({ name, before, countedAs }) => {
        // If others were counted meanwhile, the last failure is theirs, at about the same time.
        const isAlone = countedAs === (before?.count ?? 0) + 1
        return { name, countedAt, countedAs, lastAt: isAlone ? (before?.lastAt ?? 0) : countedAt }
      })
    const undo = () => store.settle({ forget: [], countDown: countDown(), remember: [] }, clock.now())

    return {
      pair,
      isKnown: cached.failures.known !== undefined,
      async count() {
        reading = await read(digests)
        countedAt = clock.now()
        const added = reading.counts.map(({ name, limit }) => ({ name, expiresAt: countedAt + limit.forgetAfter }))
        const numbers = await store.count(added, countedAt)
        counted = reading.counts.map((count, index) => ({ ...count, countedAs: numbers[index] ?? 0 }))
        if (counted.every(({ countedAs, before, limit }) => mayBeMade(countedAs, before, limit))) return
        await undo()
        throw throttled(Math.max(...counted.map(({ countedAs, limit }) => delayAfter(countedAs - 1, limit))))
      },
      async succeeded() {
        const now = clock.now()
        const { failures } = reading
        const forget = counted.length > 0 || failures.pair?.count ? [pair] : []
        const isRecent = failures.known !== undefined && now - failures.known.lastAt < REMEMBER_AGAIN_AFTER
        const remember = isRecent ? [] : [{ name: known, expiresAt: now + KNOWN_FOR }]
        if (forget.length + remember.length === 0) return
        const others = countDown().filter(({ name }) => name !== pair)
        await store.settle({ forget, countDown: others, remember }, now)
      },
      undo,
    }
  }

  return {
    /** Reads the counts, at most a second old. Throws LOGIN_THROTTLED if the attempt comes too early. `email` is canonical, or no address. */
    async attempt(email: string, address: string) {
      const name = `${address} ${email}`
      const recent = clean.get(name)
      if (recent !== undefined && clock.monotonic() < recent.until) return attemptOf(recent.digests, recent.reading)
      clean.delete(name)
      const until = clock.monotonic() + CLEAN_MILLISECONDS
      const digests = digestsOf(email, address)
      const reading = await read(digests)
      const { pair, address: ofAddress, known } = reading.failures
      if (!pair?.count && !ofAddress?.count && known !== undefined) {
        if (clean.size >= MAX_CLEAN) clean.clear()
        clean.set(name, { digests, reading, until })
      }
      return attemptOf(digests, reading)
    },
  }
}

export function digestsOf(email: string, address: string): Digests {
  const [network, site] = [networkOf(address), siteOf(address)]
  return {
    pair: digest('pair', email, network),
    address: digest('address', network),
    account: digest('account', email),
    ...(site !== undefined && { sitePair: digest('site pair', email, site), site: digest('site', site) }),
    known: digest('known', email, network),
  }
}

const DIGEST_BYTES = 16

/** The lengths make the text unambiguous. */
function digest(kind: string, ...parts: string[]): Buffer {
  const text = parts.map((part) => `\0${part.length}\0${part}`).join('')
  return hash('sha256', `teslim login ${kind}${text}`, 'buffer').subarray(0, DIGEST_BYTES)
}

function throttled(delay: number): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(delay / 1000))
  return new AppError(loginErrors.throttled, {
    message: `Too many failed logins: try again in ${retryAfterSeconds} second${retryAfterSeconds === 1 ? '' : 's'}.`,
    retryAfterSeconds,
  })
}
