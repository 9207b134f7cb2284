import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '#src/lib/clock.ts'
import type { RollUpStore } from '#src/store/store.ts'

export interface RollUpDependencies {
  readonly rollUps: Pick<RollUpStore, 'count'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly onFailed: (error: unknown) => void
}

export interface RollUps {
  start(): void
  /** Resolves when nothing is being counted any more. */
  stop(): Promise<void>
}

const AGAIN_MILLISECONDS = 1_000
const AFTER_FAILURE_MILLISECONDS = 10_000
/** Takes a few milliseconds, in which lists and feeds wait for the same thread. */
const COUNTED_AT_ONCE = 5_000
/** How much longer than its steps the pauses are while there is more to count. */
const PAUSES = 3

/** Counts deliveries by hour in the background. Replicas take turns, by the store. */
export function createRollUps({ rollUps, clock, onFailed }: RollUpDependencies): RollUps {
  const stopping = new AbortController()
  const { signal } = stopping
  let working: Promise<void> | undefined

  /** Resolves to how long to wait for the next step. */
  const step = async (): Promise<number> => {
    const start = clock.monotonic()
    const counted = await rollUps.count(COUNTED_AT_ONCE)
    return counted < COUNTED_AT_ONCE ? AGAIN_MILLISECONDS : (clock.monotonic() - start) * PAUSES
  }

  const work = async (): Promise<void> => {
    let failing = false
    let pause = AGAIN_MILLISECONDS
    for (;;) {
      await wait(pause, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return
      pause = await step().then(
        (milliseconds) => {
          failing = false
          return milliseconds
        },
        (error: unknown) => {
          // A store that is away for long is one line in the log.
          if (!failing) onFailed(error)
          failing = true
          return AFTER_FAILURE_MILLISECONDS
        },
      )
    }
  }

  return {
    start() {
      working ??= work()
    },
    async stop() {
      stopping.abort()
      await working
    },
  }
}
