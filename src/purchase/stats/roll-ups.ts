import type { Clock } from '#src/lib/clock.ts'
import { every, type Repeated } from '#src/lib/time/every.ts'
import type { RollUpStore } from '#src/store/store.ts'

const AGAIN_MILLISECONDS = 1_000
const AFTER_FAILURE_MILLISECONDS = 10_000
/** Takes a few milliseconds, in which lists and feeds wait for the same thread. */
const COUNTED_AT_ONCE = 5_000
/** How much longer than its steps the pauses are while there is more to count. */
const PAUSES = 3

/** Counts deliveries by hour in the background. Replicas take turns, by the store. */
export const createRollUps = (
  rollUps: Pick<RollUpStore, 'count'>,
  clock: Clock,
  onFailed: (error: unknown) => void,
): Repeated =>
  every({
    firstMilliseconds: AGAIN_MILLISECONDS,
    async work() {
      const start = clock.monotonic()
      const counted = await rollUps.count(COUNTED_AT_ONCE)
      return counted < COUNTED_AT_ONCE ? AGAIN_MILLISECONDS : (clock.monotonic() - start) * PAUSES
    },
    onFailed(error, inARow) {
      // A store that is away for long is one line in the log.
      if (inARow === 1) onFailed(error)
      return AFTER_FAILURE_MILLISECONDS
    },
  })
