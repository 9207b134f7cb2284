import { hash } from 'node:crypto'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { LoginFailureStore, LoginFailures } from '#src/store/store.ts'
import { clientNetwork } from './client-network.ts'
import { loginErrors } from './login.errors.ts'
import {
  ADDRESS_LIMIT,
  accountForgetAfter,
  delayAfter,
  KNOWN_FOR,
  type Limit,
  mayBeMade,
  mostAtOnce,
  pairLimit,
  REMEMBER_AGAIN_AFTER,
  remainingDelay,
} from './throttle.rule.ts'

/** The digests under which failures of an attempt are counted. */
export interface Attempt {
  readonly pair: Buffer
  readonly address: Buffer
  readonly account: Buffer
  /** Records that the address logged in to the account before. */
  readonly known: Buffer
}

export interface Standing {
  readonly pair: LoginFailures | undefined
  readonly address: LoginFailures | undefined
  readonly account: LoginFailures | undefined
  readonly known: LoginFailures | undefined
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
  readonly counts: Readonly<Record<CountedName, number>>
}

type CountedName = 'pair' | 'address' | 'account'

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
const MOST_CLEAN = 10_000

export function createThrottle(failures: LoginFailureStore, clock: Clock): Throttle {
  const clean = new Map<string, Begun & { readonly until: number }>()

  const look = async ({ pair, address, account, known }: Attempt): Promise<Standing> => {
    const now = clock.now()
    const found = await failures.find([pair, address, account, known], now)
    const standing = { pair: found[0], address: found[1], account: found[2], known: found[3] }
    const delay = Math.max(
      remainingDelay(standing.pair, limitOf(standing), now),
      remainingDelay(standing.address, ADDRESS_LIMIT, now),
    )
    if (delay > 0) throw throttled(delay)
    return standing
  }

  const takeBack = ({ attempt, before, at, counts }: Counted, names: readonly CountedName[]) =>
    names.map((name) => {
      const { count = 0, lastAt = 0 } = before[name] ?? {}
      // If others were counted meanwhile, the last failure is theirs, at about the same time.
      const isNext = counts[name] === count + 1
      return { name: attempt[name], countedAt: at, countedAs: counts[name], lastAt: isNext ? lastAt : at }
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
        if (clean.size >= MOST_CLEAN) clean.clear()
        clean.set(name, begun)
      }
      return begun
    },
    look,
    async count(attempt) {
      const before = await look(attempt)
      const at = clock.now()
      const limit = limitOf(before)
      const [pair = 0, address = 0, account = 0] = await failures.count(
        [
          { name: attempt.pair, expiresAt: at + limit.forgetAfter },
          { name: attempt.address, expiresAt: at + ADDRESS_LIMIT.forgetAfter },
          { name: attempt.account, expiresAt: at + accountForgetAfter((before.account?.count ?? 0) + 1) },
        ],
        at,
      )
      const counted = { attempt, before, at, counts: { pair, address, account } }
      if (mayBeMade(pair, before.pair, limit) && mayBeMade(address, before.address, ADDRESS_LIMIT)) return counted
      await failures.settle(
        { forget: [], countDown: takeBack(counted, ['pair', 'address', 'account']), remember: [] },
        at,
      )
      throw throttled(Math.max(delayAfter(pair - 1, limit), delayAfter(address - 1, ADDRESS_LIMIT)))
    },
    async succeeded(counted) {
      const { attempt, before } = counted
      const countDown = takeBack(counted, ['address', 'account'])
      await failures.settle({ forget: [attempt.pair], countDown, remember: remember(attempt, before) }, clock.now())
    },
    async succeededUncounted(attempt, standing) {
      const forget = standing.pair?.count ? [attempt.pair] : []
      const remembered = remember(attempt, standing)
      if (forget.length + remembered.length === 0) return
      await failures.settle({ forget, countDown: [], remember: remembered }, clock.now())
    },
    async takeBack(counted) {
      const countDown = takeBack(counted, ['pair', 'address', 'account'])
      await failures.settle({ forget: [], countDown, remember: [] }, clock.now())
    },
  }
}

/** `email` is canonical; text that is not an address is counted like any other. */
export function attemptOf(email: string, address: string): Attempt {
  const network = clientNetwork(address)
  return {
    pair: digest('pair', email, network),
    address: digest('address', network),
    account: digest('account', email),
    known: digest('known', email, network),
  }
}

const DIGEST_BYTES = 16

/** The lengths make the text unambiguous. */
function digest(kind: string, ...parts: string[]): Buffer {
  const text = parts.map((part) => `\0${part.length}\0${part}`).join('')
  return hash('sha256', `teslim login ${kind}${text}`, 'buffer').subarray(0, DIGEST_BYTES)
}

/** Limits concurrent attempts, so that honest concurrent logins stay within the free ones. */
export const hashTaskOf = (attempt: Attempt, standing: Standing) => ({
  group: attempt.pair.toString('hex'),
  groupLimit: mostAtOnce(standing.pair, limitOf(standing)),
  preferred: standing.known !== undefined,
})

const limitOf = ({ account, known }: Standing): Limit => pairLimit(account, known !== undefined)

function throttled(delay: number): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(delay / 1000))
  return new AppError(loginErrors.throttled, {
    message: `Too many failed logins: try again in ${retryAfterSeconds} second${retryAfterSeconds === 1 ? '' : 's'}.`,
    retryAfterSeconds,
  })
}
