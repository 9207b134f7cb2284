import type { Clock } from '#src/lib/clock.ts'

/** Delays refusals that cost no hash: clients in a storm of logins retry at once and would keep the event loop busy. */
export type RefusalDelay = ReturnType<typeof createRefusalDelay>

const PER_SECOND = 200
const AT_ONCE = 100
/** Clients may give up a connection that is silent for longer. */
const MAX_WAIT_MILLISECONDS = 10_000

export function createRefusalDelay(clock: Clock) {
  const interval = 1000 / PER_SECOND
  const waiting = new Map<NodeJS.Timeout, () => void>()
  let nextAt = Number.NEGATIVE_INFINITY
  let closed = false

  return {
    /** Resolves when the next refusal may be answered: at once, unless there were many recently. */
    wait() {
      const now = clock.monotonic()
      nextAt = Math.min(Math.max(nextAt + interval, now - AT_ONCE * interval), now + MAX_WAIT_MILLISECONDS)
      const delay = nextAt - now
      if (delay <= 0 || closed) return Promise.resolve()
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(() => {
        waiting.delete(timer)
        resolve()
      }, delay)
      waiting.set(timer, resolve)
      return promise
    },
    /** Releases all that wait, and lets later ones pass at once. */
    close() {
      closed = true
      for (const [timer, resolve] of waiting) {
        clearTimeout(timer)
        resolve()
      }
      waiting.clear()
    },
  }
}
