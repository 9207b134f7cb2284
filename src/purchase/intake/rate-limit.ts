import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { message } from '#src/lib/messages/message.ts'
import type { ApiKey } from '#src/store/store.ts'
import { purchaseErrors } from '../purchase.errors.ts'

/** What an API key may still do, in whole numbers for headers. */
export interface Allowance {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Until the key may use its whole limit again. */
  readonly resetSeconds: number
  /** Until one more delivery is allowed; 0 if one is allowed now. */
  readonly retrySeconds: number
}

/** Tokens of an API key, as counted at a time of the monotonic clock. */
interface Bucket {
  readonly tokens: number
  readonly at: number
}

const MINUTE_MILLISECONDS = 60_000

/** Counts a delivery of a key; returns undefined for a key without a limit. */
export type TakeAllowance = (key: Pick<ApiKey, 'id' | 'rateLimit'>) => Allowance | undefined

/**
 * Keeps a token bucket for each API key: `perMinute` deliveries at once, and `perMinute` a minute from then on, where `perMinute`
 * is the key's own limit or else `usual`; 0 is no limit. A bucket that was not used for a minute is full and is forgotten, so
 * only keys in use take memory.
 */
export function createRateLimit(usual: number, clock: Clock): TakeAllowance {
  let recent = new Map<string, Bucket>()
  let before = new Map<string, Bucket>()
  let turnedAt = Number.NEGATIVE_INFINITY

  /** Forgets the buckets that are full again. */
  const turn = (now: number): void => {
    const elapsed = now - turnedAt
    if (elapsed < MINUTE_MILLISECONDS) return
    before = elapsed < 2 * MINUTE_MILLISECONDS ? recent : new Map()
    recent = new Map()
    turnedAt = now
  }

  const filled = (bucket: Bucket | undefined, perMinute: number, now: number): number =>
    bucket === undefined
      ? perMinute
      : Math.min(perMinute, bucket.tokens + ((now - bucket.at) * perMinute) / MINUTE_MILLISECONDS)

  return ({ id, rateLimit }) => {
    const perMinute = rateLimit ?? usual
    if (perMinute === 0) return undefined
    const secondsFor = (tokens: number): number => Math.ceil((tokens * 60) / perMinute)
    const now = clock.monotonic()
    turn(now)
    const there = filled(recent.get(id) ?? before.get(id), perMinute, now)
    const allowed = there >= 1
    const tokens = allowed ? there - 1 : there
    recent.set(id, { tokens, at: now })
    return {
      allowed,
      limit: perMinute,
      remaining: Math.floor(tokens),
      resetSeconds: secondsFor(perMinute - tokens),
      retrySeconds: allowed ? 0 : Math.max(1, secondsFor(1 - tokens)),
    }
  }
}

export const limitReached = ({ limit, retrySeconds }: Allowance): AppError =>
  new AppError(purchaseErrors.rateLimited, {
    message: message('RATE_LIMIT_REACHED', { limit, seconds: retrySeconds }),
    retryAfterSeconds: retrySeconds,
  })
