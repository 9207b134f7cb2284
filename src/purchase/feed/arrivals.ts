import type { DeliveryStore } from '#src/store/store.ts'

/** Whose deliveries: a customer's, or everybody's. */
export type Scope = string | null

export interface ArrivalsDependencies {
  readonly deliveries: Pick<DeliveryStore, 'watch' | 'arrivals'>
  /** Told when the store could not be asked; it is asked again after the next commit. */
  readonly onFailed: (error: unknown) => void
}

export interface Arrivals {
  /** Waits for more of a scope, of which everything up to `position` has been read. */
  wait(scope: Scope, position: number): Wait
  close(): void
}

export interface Wait {
  /** From where to read on, once there may be something: all before it is read, or of others. */
  readonly over: Promise<number>
  /** Ends it now. */
  end(): void
}

interface Waiter {
  readonly position: number
  readonly resolve: (position: number) => void
}

/** After a look, so that what is committed meanwhile is looked at together. */
const REST_MILLISECONDS = 5

/**
 * One look at new deliveries serves everybody who waits: whoever gets none of them is not woken, and need not read past
 * those of others afterwards. A look follows a commit; where nobody waits nobody looks.
 */
export function createArrivals({ deliveries, onFailed }: ArrivalsDependencies): Arrivals {
  const waiting = new Map<Scope, Set<Waiter>>()
  /** Up to where those who wait have been told; undefined when commits went by that nobody looked at. */
  let tail: number | undefined
  let unwatch: (() => void) | undefined
  let looking = false
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

  const look = async (from: number): Promise<void> => {
    looking = true
    again = false
    try {
      const { position, customerIds, more } = await deliveries.arrivals(from)
      tail = position
      again ||= more
      if (customerIds.length > 0) wake(null, from)
      for (const customerId of customerIds) wake(customerId, from)
    } catch (error) {
      onFailed(error)
    }
    looking = false
    resting = setTimeout(() => {
      resting = undefined
      if (again) lookSoon()
    }, REST_MILLISECONDS)
  }

  const lookSoon = (): void => {
    if (looking || resting !== undefined) again = true
    else if (waiting.size === 0 || tail === undefined) tail = undefined
    else void look(tail)
  }

  return {
    wait(scope, position) {
      if (tail !== undefined && tail > position) return { over: Promise.resolve(position), end: () => undefined }
      const { promise: over, resolve } = Promise.withResolvers<number>()
      const waiter = { position, resolve }
      const others = waiting.get(scope) ?? new Set()
      waiting.set(scope, others.add(waiter))
      unwatch ??= deliveries.watch(lookSoon)
      if (tail === undefined) {
        tail = position
        lookSoon()
      }
      return { over, end: () => release(scope, waiter, tail ?? position) }
    },
    close() {
      clearTimeout(resting)
      unwatch?.()
      for (const [scope, waiters] of waiting) for (const waiter of waiters) release(scope, waiter, waiter.position)
    },
  }
}
