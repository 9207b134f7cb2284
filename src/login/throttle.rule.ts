import type { LoginFailures } from '#src/store/store.ts'

/** How many failures are free, and how long each further one delays the next try. */
export interface Limit {
  readonly free: number
  readonly firstDelay: number
  readonly longestDelay: number
  /** How long after the last failure all are forgotten. All times are in milliseconds. */
  readonly forgetAfter: number
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** docs/decisions/0009-login-throttle.md explains these numbers. */
export const PAIR_LIMIT: Limit = { free: 5, firstDelay: SECOND, longestDelay: 15 * MINUTE, forgetAfter: HOUR }

/** Applies to a stranger to an account with many failures. */
export const STRANGER_LIMIT: Limit = { free: 1, firstDelay: MINUTE, longestDelay: HOUR, forgetAfter: DAY }

export const ADDRESS_LIMIT: Limit = { free: 50, firstDelay: SECOND, longestDelay: 15 * MINUTE, forgetAfter: HOUR }

/** Apply to all strangers of one IPv6 /48 together; the first one if the account has many failures. */
export const STRANGER_SITE_LIMIT: Limit = { ...STRANGER_LIMIT, free: 5 }
export const SITE_LIMIT: Limit = { ...ADDRESS_LIMIT, free: 500 }

/** From this many failures of one account on, strangers have less: addresses that never logged in to it. */
export const MANY_FAILURES = 100

/** Where failures are only counted, fewer than these are forgotten after an hour instead of a day. */
const FEW_FAILURES = 10

/** How long an address is known after a login, and how often that is written. */
export const KNOWN_FOR = 30 * DAY
export const REMEMBER_AGAIN_AFTER = DAY

/** What failures are counted of: an account from an address, an address, an account, an account from a /48, and a /48. */
export type Counter = 'pair' | 'address' | 'account' | 'sitePair' | 'site'

/** What the store has counted for an attempt. It has `known` if the address logged in to the account before. */
export type FailureCounts = Readonly<Partial<Record<Counter | 'known', LoginFailures>>>

/** The limits of what the attempt counts for: a known address does not count for its /48. */
export function limitsOf({ account, sitePair, known }: FailureCounts): Readonly<Partial<Record<Counter, Limit>>> {
  const own = { pair: PAIR_LIMIT, address: ADDRESS_LIMIT, account: unlimited(account) }
  if (known !== undefined) return own
  const isAttacked = (account?.count ?? 0) >= MANY_FAILURES
  return {
    ...own,
    pair: isAttacked ? STRANGER_LIMIT : PAIR_LIMIT,
    sitePair: isAttacked ? STRANGER_SITE_LIMIT : unlimited(sitePair),
    site: SITE_LIMIT,
  }
}

/** Only counts. */
const unlimited = (failures: LoginFailures | undefined): Limit => ({
  free: Number.POSITIVE_INFINITY,
  firstDelay: 0,
  longestDelay: 0,
  forgetAfter: (failures?.count ?? 0) + 1 < FEW_FAILURES ? HOUR : DAY,
})

export function delayAfter(count: number, { free, firstDelay, longestDelay }: Limit): number {
  return count < free ? 0 : Math.min(firstDelay * 2 ** (count - free), longestDelay)
}

/** Clocks of replicas may differ by this much; a failure further ahead means that a clock was set back. */
const MAX_AHEAD = MINUTE

/** Returns the milliseconds until the next try, 0 if it may be made now. */
export function remainingDelay(failures: LoginFailures | undefined, limit: Limit, now: number): number {
  if (failures === undefined || failures.lastAt > now + MAX_AHEAD) return 0
  const delay = delayAfter(failures.count, limit)
  // The last failure may lie ahead of this clock: another replica counted it meanwhile.
  return delay === 0 ? 0 : Math.max(0, failures.lastAt + delay - now)
}

/**
 * Whether the try counted as number `count` may be made. Beyond the free tries it may only if no other was counted since the delay
 * was checked: otherwise concurrent tries would all find no delay.
 */
export const mayBeMade = (count: number, before: LoginFailures | undefined, { free }: Limit): boolean =>
  count <= free || count === (before?.count ?? 0) + 1
