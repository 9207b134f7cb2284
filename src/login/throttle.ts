import { hash } from 'node:crypto'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { networkOf, siteOf } from '#src/lib/net/network.ts'
import type { LoginFailureStore } from '#src/store/store.ts'
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

export interface Throttle {
  /** Reads the counts, at most a second old. Throws LOGIN_THROTTLED if the attempt comes too early. `email` is canonical, or no address. */
  attempt(email: string, address: string): Promise<Attempt>
}

/** The names under which the store keeps what concerns an attempt. */
export interface Digests {
  readonly pair: Buffer
  /** The names under which failures are counted, that of the pair among them. */
  readonly counters: readonly (readonly [Counter, Buffer])[]
  /** Records that the address logged in to the account before. */
  readonly known: Buffer
}

/** One of the counters of an attempt that was counted. */
interface Counted {
  readonly counter: Counter
  readonly name: Buffer
  readonly limit: Limit
  /** As how many failures the store counted it. */
  readonly count: number
}

/** How long an address without failures is cached: most logins come from such addresses. */
const CLEAN_MILLISECONDS = 1000
const MAX_CLEAN = 10_000

export function createThrottle(failures: LoginFailureStore, clock: Clock): Throttle {
  const clean = new Map<string, { digests: Digests; counts: FailureCounts; until: number }>()

  /** Throws LOGIN_THROTTLED if an attempt now comes too early. */
  const read = async ({ counters, known }: Digests): Promise<FailureCounts> => {
    const now = clock.now()
    const names = [...counters, ['known', known] as const]
    const found = await failures.find(
      names.map(([, digest]) => digest),
      now,
    )
    const counts: FailureCounts = Object.fromEntries(names.map(([name], index) => [name, found[index]]))
    const limited = limitedBy(counters, counts)
    const delay = Math.max(...limited.map(({ counter, limit }) => remainingDelay(counts[counter], limit, now)))
    if (delay > 0) throw throttled(delay)
    return counts
  }

  const attemptOf = (digests: Digests, counts: FailureCounts): Attempt => {
    const { pair, counters, known } = digests
    let before = counts
    let counted: readonly Counted[] = []
    let countedAt = 0

    const countDown = () =>
      counted.map(({ counter, name, count: countedAs }) => {
        const { count = 0, lastAt = 0 } = before[counter] ?? {}
        // If others were counted meanwhile, the last failure is theirs, at about the same time.
        return { name, countedAt, countedAs, lastAt: countedAs === count + 1 ? lastAt : countedAt }
      })
    const undo = () => failures.settle({ forget: [], countDown: countDown(), remember: [] }, clock.now())

    return {
      pair,
      isKnown: counts.known !== undefined,
      async count() {
        before = await read(digests)
        countedAt = clock.now()
        const limited = limitedBy(counters, before)
        const found = await failures.count(
          limited.map(({ name, limit }) => ({ name, expiresAt: countedAt + limit.forgetAfter })),
          countedAt,
        )
        counted = limited.map((each, index) => ({ ...each, count: found[index] ?? 0 }))
        if (counted.every(({ counter, count, limit }) => mayBeMade(count, before[counter], limit))) return
        await undo()
        throw throttled(Math.max(...counted.map(({ count, limit }) => delayAfter(count - 1, limit))))
      },
      async succeeded() {
        const now = clock.now()
        const forget = counted.length > 0 || before.pair?.count ? [pair] : []
        const isRecent = before.known !== undefined && now - before.known.lastAt < REMEMBER_AGAIN_AFTER
        const remember = isRecent ? [] : [{ name: known, expiresAt: now + KNOWN_FOR }]
        if (forget.length + remember.length === 0) return
        const others = countDown().filter(({ name }) => name !== pair)
        await failures.settle({ forget, countDown: others, remember }, now)
      },
      undo,
    }
  }

  return {
    async attempt(email, address) {
      const name = `${address} ${email}`
      const recent = clean.get(name)
      if (recent !== undefined && clock.monotonic() < recent.until) return attemptOf(recent.digests, recent.counts)
      clean.delete(name)
      const until = clock.monotonic() + CLEAN_MILLISECONDS
      const digests = digestsOf(email, address)
      const counts = await read(digests)
      if (!counts.pair?.count && !counts.address?.count && counts.known !== undefined) {
        if (clean.size >= MAX_CLEAN) clean.clear()
        clean.set(name, { digests, counts, until })
      }
      return attemptOf(digests, counts)
    },
  }
}

function limitedBy(counters: Digests['counters'], counts: FailureCounts) {
  const limits = limitsOf(counts)
  return counters.flatMap(([counter, name]) => {
    const limit = limits[counter]
    return limit === undefined ? [] : [{ counter, name, limit }]
  })
}

export function digestsOf(email: string, address: string): Digests {
  const [network, site] = [networkOf(address), siteOf(address)]
  const pair = digest('pair', email, network)
  const counters: [Counter, Buffer][] = [
    ['pair', pair],
    ['address', digest('address', network)],
    ['account', digest('account', email)],
  ]
  if (site !== undefined) counters.push(['sitePair', digest('site pair', email, site)], ['site', digest('site', site)])
  return { pair, counters, known: digest('known', email, network) }
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
