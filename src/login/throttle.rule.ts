import type { LoginFailures } from '#src/store/store.ts'

/** How many failures are free, and how long the next try has to wait after each one more. */
export interface Limit {
  readonly free: number
  readonly firstDelay: number
  readonly longestDelay: number
  /** How long after the last failure all are forgotten. These are milliseconds. */
  readonly forgetAfter: number
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** docs/decisions/0009-login-throttle.md says why these numbers. */
export const PAIR_LIMIT: Limit = { free: 5, firstDelay: SECOND, longestDelay: 15 * MINUTE, forgetAfter: HOUR }

/** For an address that never logged in to an account which many failed to log in to. */
export const STRANGER_LIMIT: Limit = { free: 1, firstDelay: MINUTE, longestDelay: HOUR, forgetAfter: DAY }

export const ADDRESS_LIMIT: Limit = { free: 50, firstDelay: SECOND, longestDelay: 15 * MINUTE, forgetAfter: HOUR }

/** Failures of one account, from whatever addresses, that make every other address a stranger. */
export const MANY_FAILURES = 100

/** An account that was tried once or twice is not worth a row for a day. */
const FEW_FAILURES = 10

export const accountForgetAfter = (count: number): number => (count < FEW_FAILURES ? HOUR : DAY)

/** How long an address is known after a login, and how often that is written down. */
export const KNOWN_FOR = 30 * DAY
export const KNOWN_ANEW_AFTER = DAY

export const pairLimit = (account: LoginFailures | undefined, known: boolean): Limit =>
  !known && (account?.count ?? 0) >= MANY_FAILURES ? STRANGER_LIMIT : PAIR_LIMIT

export function delayAfter(count: number, { free, firstDelay, longestDelay }: Limit): number {
  return count < free ? 0 : Math.min(firstDelay * 2 ** (count - free), longestDelay)
}

/** Tries of an account from one address that may be under way in one process: with another's, not more than are free. */
const MOST_AT_ONCE = 4

export const mostAtOnce = (pair: LoginFailures | undefined, { free }: Limit): number =>
  Math.max(1, Math.min(MOST_AT_ONCE, free - (pair?.count ?? 0)))

/** The clocks of replicas may differ by this much; a failure further ahead is from before a clock was put back. */
const MOST_AHEAD = MINUTE

/** Milliseconds until the next try, 0 where it may be made now. */
export function remainingDelay(failures: LoginFailures | undefined, limit: Limit, now: number): number {
  if (failures === undefined || failures.lastAt > now + MOST_AHEAD) return 0
  const delay = delayAfter(failures.count, limit)
  // The last one may be ahead even of a right clock: another replica counted it while this one looked.
  return delay === 0 ? 0 : Math.max(0, failures.lastAt + delay - now)
}

/**
 * Whether a try that was counted as number `count` may be made. One beyond the free ones may only if no other was counted
 * since it was looked whether there is a delay: else many at once would all find that there is none.
 */
export const mayBeMade = (count: number, before: LoginFailures | undefined, { free }: Limit): boolean =>
  count <= free || count === (before?.count ?? 0) + 1
