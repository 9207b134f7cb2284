import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { MAX_WAIT_SECONDS } from './feed.schema.ts'

/** Streams and long polls of one customer at this process. */
const MAX_FOLLOWERS = 64
/**
 * A stream that has been open for longer makes way for a new one: its reader may have gone without a word, which the system finds out
 * after a quarter of an hour. A long poll is over by then.
 */
const SPARED_MILLISECONDS = MAX_WAIT_SECONDS * 1000
const RETRY_SECONDS = 10

interface Follower {
  readonly since: number
  /** Ends a stream, whose reader resumes after its last event. */
  readonly end: (() => void) | undefined
}

/** Counts who follows the feed, so that no customer takes the connections of others. */
export function createFollowers(clock: Pick<Clock, 'monotonic'>) {
  /** By customer, the oldest first. Without customers that have none. */
  const customers = new Map<string, Set<Follower>>()

  const leave = (customerId: string, follower: Follower): void => {
    const all = customers.get(customerId)
    all?.delete(follower)
    if (all?.size === 0) customers.delete(customerId)
  }

  /** Ends the oldest stream, if it is no longer spared. */
  const makeRoom = (customerId: string, all: Set<Follower>): void => {
    const now = clock.monotonic()
    for (const follower of all) {
      if (now - follower.since < SPARED_MILLISECONDS) break
      if (follower.end === undefined) continue
      leave(customerId, follower)
      follower.end()
      return
    }
    throw new AppError(purchaseErrors.followersFull, { retryAfterSeconds: RETRY_SECONDS })
  }

  return {
    /** Counts a follower until the function that it returns is called. Refuses it if the customer has as many as it may. */
    join(customerId: string, end?: () => void): () => void {
      const others = customers.get(customerId)
      if (others && others.size >= MAX_FOLLOWERS) makeRoom(customerId, others)
      const follower = { since: clock.monotonic(), end }
      customers.set(customerId, (customers.get(customerId) ?? new Set()).add(follower))
      return () => leave(customerId, follower)
    },
    count: (): number => customers.values().reduce((sum, { size }) => sum + size, 0),
  }
}
