import { hash } from 'node:crypto'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { networkOf, siteOf } from '#src/lib/net/network.ts'
import type { LoginFailureStore } from '#src/store/store.ts'
import { loginErrors } from './login.errors.ts'
import {
  type Counter,
  delayAfter,
  KNOWN_FOR,
  limitsOf,
  mayBeMade,
  mostAtOnce,
  REMEMBER_AGAIN_AFTER,
  remainingDelay,
  type Standing,
} from './throttle.rule.ts'

export interface Attempt {
  readonly pair: Buffer
  /** The digests under which failures are counted, that of the pair among them. */
  readonly counters: readonly (readonly [Counter, Buffer])[]
  /** Records that the address logged in to the account before. */
  readonly known: Buffer
}

export interface Begun {
  readonly attempt: Attempt
  readonly standing: Standing
}

/** An attempt counted as a failure until it succeeds. */
export interface Counted {
  readonly attempt: Attempt
  readonly before: Standing
  readonly at: number
  readonly counts: readonly { readonly counter: Counter; readonly name: Buffer; readonly count: number }[]
}

export interface Throttle {
  /** Reads the counts, at most a second old. Throws LOGIN_THROTTLED if the attempt comes too early. */
  begin(email: string, address: string): Promise<Begun>
  /** Reads the current counts. Throws like `begin`. */
  look(attempt: Attempt): Promise<Standing>
  /** Counts a failure in advance, so that concurrent attempts cannot outrun the count. Throws like `begin`. */
  count(attempt: Attempt): Promise<Counted>
  /** Forgets the failures of the account from this address, and remembers the address as known. */
  succeeded(counted: Counted): Promise<void>
  /** Does what `succeeded` does for a login that was not counted. */
  succeededUncounted(attempt: Attempt, standing: Standing): Promise<void>
  /** Undoes the count of an attempt that was not completed. */
  takeBack(counted: Counted): Promise<void>
}

/** How long an address without failures is cached: most logins come from such addresses. */
const CLEAN_MILLISECONDS = 1000
const MAX_CLEAN = 10_000

export function createThrottle(failures: LoginFailureStore, clock: Clock): Throttle {
  const clean = new Map<string, Begun & { readonly until: number }>()

  const look = async ({ counters, known }: Attempt): Promise<Standing> => {
    const now = clock.now()
    const names = [...counters, ['known', known] as const]
    const found = await failures.find(
      names.map(([, digest]) => digest),
      now,
    )
    const standing: Standing = Object.fromEntries(names.map(([name], index) => [name, found[index]]))
    const limited = limitedBy(counters, standing)
    const delay = Math.max(...limited.map(({ counter, limit }) => remainingDelay(standing[counter], limit, now)))
    if (delay > 0) throw throttled(delay)
    return standing
  }

  const takeBack = ({ before, at, counts }: Counted) =>
    counts.map(({ counter, name, count: countedAs }) => {
      const { count = 0, lastAt = 0 } = before[counter] ?? {}
      // If others were counted meanwhile, the last failure is theirs, at about the same time.
      return { name, countedAt: at, countedAs, lastAt: countedAs === count + 1 ? lastAt : at }
    })

  const remember = ({ known }: Attempt, standing: Standing) => {
    const now = clock.now()
    const isRecent = standing.known !== undefined && now - standing.known.lastAt < REMEMBER_AGAIN_AFTER
    return isRecent ? [] : [{ name: known, expiresAt: now + KNOWN_FOR }]
  }

  return {
    async begin(email, address) {
      const name = `${address} ${email}`
      const recent = clean.get(name)
      if (recent !== undefined && clock.monotonic() < recent.until) return recent
      clean.delete(name)
      const until = clock.monotonic() + CLEAN_MILLISECONDS
      const attempt = attemptOf(email, address)
      const begun = { attempt, standing: await look(attempt), until }
      const { pair, address: others, known } = begun.standing
      if (!pair?.count && !others?.count && known !== undefined) {
        if (clean.size >= MAX_CLEAN) clean.clear()
        clean.set(name, begun)
      }
      return begun
    },
    look,
    async count(attempt) {
      const before = await look(attempt)
      const at = clock.now()
      const limited = limitedBy(attempt.counters, before)
      const found = await failures.count(
        limited.map(({ name, limit }) => ({ name, expiresAt: at + limit.forgetAfter })),
        at,
      )
      const counts = limited.map((each, index) => ({ ...each, count: found[index] ?? 0 }))
      const counted = { attempt, before, at, counts }
      if (counts.every(({ counter, count, limit }) => mayBeMade(count, before[counter], limit))) return counted
      await failures.settle({ forget: [], countDown: takeBack(counted), remember: [] }, at)
      throw throttled(Math.max(...counts.map(({ count, limit }) => delayAfter(count - 1, limit))))
    },
    async succeeded(counted) {
      const { attempt, before } = counted
      const countDown = takeBack(counted).filter(({ name }) => name !== attempt.pair)
      await failures.settle({ forget: [attempt.pair], countDown, remember: remember(attempt, before) }, clock.now())
    },
    async succeededUncounted(attempt, standing) {
      const forget = standing.pair?.count ? [attempt.pair] : []
      const remembered = remember(attempt, standing)
      if (forget.length + remembered.length === 0) return
      await failures.settle({ forget, countDown: [], remember: remembered }, clock.now())
    },
    async takeBack(counted) {
      await failures.settle({ forget: [], countDown: takeBack(counted), remember: [] }, clock.now())
    },
  }
}

function limitedBy(counters: Attempt['counters'], standing: Standing) {
  const limits = limitsOf(standing)
  return counters.flatMap(([counter, name]) => {
    const limit = limits[counter]
    return limit === undefined ? [] : [{ counter, name, limit }]
  })
}

/** `email` is canonical; text that is not an address is counted like any other. */
export function attemptOf(email: string, address: string): Attempt {
  const [network, site] = [networkOf(address), siteOf(address)]
  const pair = digest('pair', email, network)
  return {
    pair,
    counters: [
      ['pair', pair],
      ['address', digest('address', network)],
      ['account', digest('account', email)],
      ...(site === undefined ? [] : sitesOf(email, site)),
    ],
    known: digest('known', email, network),
  }
}

const sitesOf = (email: string, site: string): Attempt['counters'] => [
  ['sitePair', digest('site pair', email, site)],
  ['site', digest('site', site)],
]

const DIGEST_BYTES = 16

/** The lengths make the text unambiguous. */
function digest(kind: string, ...parts: string[]): Buffer {
  const text = parts.map((part) => `\0${part.length}\0${part}`).join('')
  return hash('sha256', `teslim login ${kind}${text}`, 'buffer').subarray(0, DIGEST_BYTES)
}

/** Limits concurrent attempts, so that honest concurrent logins stay within the free ones. */
export const hashTaskOf = (attempt: Attempt, standing: Standing) => ({
  group: attempt.pair.toString('hex'),
  groupLimit: mostAtOnce(standing.pair, limitsOf(standing).pair),
  preferred: standing.known !== undefined,
})

function throttled(delay: number): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(delay / 1000))
  return new AppError(loginErrors.throttled, {
    message: `Too many failed logins: try again in ${retryAfterSeconds} second${retryAfterSeconds === 1 ? '' : 's'}.`,
    retryAfterSeconds,
  })
}
