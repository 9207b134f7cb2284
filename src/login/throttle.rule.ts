import type { LoginFailures } from '#src/store/store.ts'

/** How many failures are free, and how long each further one delays the next try. All times are in milliseconds. */
export interface Limit {
  readonly free: number
  readonly firstDelay: number
  readonly maxDelay: number
  /** How long after the last failure all are forgotten. */
  readonly forgetAfter: number
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** docs/decisions/0009-login-throttle.md explains these numbers. */
export const PAIR_LIMIT: Limit = { free: 5, firstDelay: SECOND, maxDelay: 15 * MINUTE, forgetAfter: HOUR }
export const ADDRESS_LIMIT: Limit = { ...PAIR_LIMIT, free: 50 }
/** Applies to all addresses of an IPv6 /48 together, except those that logged in to the account before. */
export const SITE_LIMIT: Limit = { ...PAIR_LIMIT, free: 500 }

/** From this many failures of an account on, addresses that never logged in to it have these limits, alone and per /48. */
export const MANY_FAILURES = 100
export const UNKNOWN_PAIR_LIMIT: Limit = { free: 1, firstDelay: MINUTE, maxDelay: HOUR, forgetAfter: DAY }
export const UNKNOWN_SITE_PAIR_LIMIT: Limit = { ...UNKNOWN_PAIR_LIMIT, free: 5 }

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
export function limitsOf({ account, sitePair, known }: FailureCounts): [Counter, Limit][] {
  const isRestricted = known === undefined && (account?.count ?? 0) >= MANY_FAILURES
  const limits: [Counter, Limit][] = [
    ['pair', isRestricted ? UNKNOWN_PAIR_LIMIT : PAIR_LIMIT],
    ['address', ADDRESS_LIMIT],
    ['account', unlimited(account)],
  ]
  if (known !== undefined) return limits
  return [...limits, ['sitePair', isRestricted ? UNKNOWN_SITE_PAIR_LIMIT : unlimited(sitePair)], ['site', SITE_LIMIT]]
}

/** Only counts. */
const unlimited = (failures: LoginFailures | undefined): Limit => ({
  free: Number.POSITIVE_INFINITY,
  firstDelay: 0,
  maxDelay: 0,
  forgetAfter: (failures?.count ?? 0) + 1 < FEW_FAILURES ? HOUR : DAY,
})

export const delayAfter = (count: number, { free, firstDelay, maxDelay }: Limit): number =>
  count < free ? 0 : Math.min(firstDelay * 2 ** (count - free), maxDelay)

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
