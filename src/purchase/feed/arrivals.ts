import type { DeliveryStore } from '#src/store/store.ts'

/** The id of one customer, or null for all customers. */
export type Scope = string | null

export type Arrivals = ReturnType<typeof createArrivals>

interface Wait {
  /** Resolves, once there may be something to read, to the position to read on from. */
  readonly over: Promise<number>
  /** Ends the wait now. */
  end(): void
}

interface Waiter {
  readonly position: number
  readonly resolve: (position: number) => void
}

/** Lets the commits of this time share one query. */
const REST_MILLISECONDS = 5

/**
 * Wakes followers. After a commit, one query serves all of them; a follower whose customer got no delivery is not woken, and
 * skips the deliveries of others when it reads on. Without followers nothing is queried. Calls `onFailed` when the store could not be
 * queried; the next commit triggers another attempt.
 */
export function createArrivals(
  deliveries: Pick<DeliveryStore, 'watch' | 'arrivals'>,
  onFailed: (error: unknown) => void,
) {
  const waiting = new Map<Scope, Set<Waiter>>()
  /** Followers know of all deliveries up to here; undefined if there were commits that nobody queried. */
  let tail: number | undefined
  let unwatch: (() => void) | undefined
  let polling = false
  let again = false
  let resting: NodeJS.Timeout | undefined

  const release = (scope: Scope, waiter: Waiter, from: number): void => {
    const others = waiting.get(scope)
    if (!others?.delete(waiter)) return
    if (others.size === 0) waiting.delete(scope)
    waiter.resolve(Math.max(waiter.position, from))
  }

  const wake = (scope: Scope, from: number): void => {
    for (const waiter of waiting.get(scope) ?? []) release(scope, waiter, from)
  }

  const poll = async (from: number): Promise<void> => {
    polling = true
    again = false
    try {
      const { position, customerIds, more, lost } = await deliveries.arrivals(from)
      tail = position
      again ||= more
      // Those whose place is lost must get to know it; the others wait again.
      if (lost) for (const scope of waiting.keys()) wake(scope, 0)
      if (customerIds.length > 0) wake(null, from)
      for (const customerId of customerIds) wake(customerId, from)
    } catch (error) {
      onFailed(error)
    }
    polling = false
    resting = setTimeout(() => {
      resting = undefined
      if (again) pollSoon()
    }, REST_MILLISECONDS)
  }

  const pollSoon = (): void => {
    if (polling || resting !== undefined) again = true
    else if (waiting.size === 0 || tail === undefined) tail = undefined
    else void poll(tail)
  }

  return {
    /** Waits for deliveries of a scope after `position`. */
    wait(scope: Scope, position: number): Wait {
      if (tail !== undefined && tail > position) return { over: Promise.resolve(position), end: () => undefined }
      const { promise: over, resolve } = Promise.withResolvers<number>()
      const waiter = { position, resolve }
      const others = waiting.get(scope) ?? new Set()
      waiting.set(scope, others.add(waiter))
      unwatch ??= deliveries.watch(pollSoon)
      if (tail === undefined) {
        tail = position
        pollSoon()
      }
      return { over, end: () => release(scope, waiter, tail ?? position) }
    },
    close(): void {
      clearTimeout(resting)
      unwatch?.()
      for (const [scope, waiters] of waiting) for (const waiter of waiters) release(scope, waiter, waiter.position)
    },
  }
}
