import { type Bucket, createBuckets, createSharedBuckets } from '#src/lib/buckets.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { ApiKey } from '#src/store/store.ts'

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

const MINUTE_MILLISECONDS = 60_000

/** Counts a delivery of a key; returns undefined for a key without a limit. */
export type TakeAllowance = (key: Pick<ApiKey, 'id' | 'rateLimit'>) => Allowance | undefined

/**
 * Keeps a token bucket for each API key: `perMinute` deliveries at once, and `perMinute` a minute from then on, where `perMinute`
 * is the key's own limit or else `usual`; 0 is no limit. A bucket that was not used for a minute is full and is forgotten, so
 * only keys in use take memory. Threads that share the memory count together.
 */
export function createRateLimit(usual: number, clock: Clock, shared?: SharedArrayBuffer): TakeAllowance {
  const buckets = shared ? createSharedBuckets(shared, MINUTE_MILLISECONDS) : createBuckets(MINUTE_MILLISECONDS)

  const filled = (bucket: Bucket | undefined, perMinute: number, now: number): number =>
    bucket === undefined
      ? perMinute
      : Math.min(perMinute, bucket.tokens + ((now - bucket.at) * perMinute) / MINUTE_MILLISECONDS)

  return ({ id, rateLimit }) => {
    const perMinute = rateLimit ?? usual
    if (perMinute === 0) return undefined
    const secondsFor = (tokens: number): number => Math.ceil((tokens * 60) / perMinute)
    const now = clock.monotonic()
    let allowed = false
    let tokens = 0
    buckets.update(id, now, (bucket) => {
      const there = filled(bucket, perMinute, now)
      allowed = there >= 1
      tokens = allowed ? there - 1 : there
      return { tokens, at: now }
    })
    return {
      allowed,
      limit: perMinute,
      remaining: Math.floor(tokens),
      resetSeconds: secondsFor(perMinute - tokens),
      retrySeconds: allowed ? 0 : Math.max(1, secondsFor(1 - tokens)),
    }
  }
}
