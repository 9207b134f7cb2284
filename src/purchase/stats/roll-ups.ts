import type { Clock } from '#src/lib/clock.ts'
import { every, type Repeated } from '#src/lib/time/every.ts'
import type { DeliveryStore, RollUpStore } from '#src/store/store.ts'

const FIRST_MILLISECONDS = 1000
const AFTER_FAILURE_MILLISECONDS = 10_000
/** Takes a few milliseconds, in which lists and feeds wait for the same thread. */
const COUNTED_AT_ONCE = 5_000
/** How much longer than its steps the pauses are while there is more to count. */
const PAUSES = 3
/** A read of the counts adds what is not counted yet, so that may wait: this many deliveries, this long. */
const MAY_WAIT = 3_000
const MAX_MILLISECONDS = 15_000

/** Counts deliveries by hour in the background, seldom where few come. Replicas take turns, by the store. */
export function createRollUps(
  { rollUps, deliveries }: { rollUps: Pick<RollUpStore, 'count'>; deliveries: Pick<DeliveryStore, 'lastPosition'> },
  clock: Clock,
  onFailed: (error: unknown) => void,
): Repeated {
  let pause = FIRST_MILLISECONDS
  let countedTo = -1

  const count = async (): Promise<number> => {
    const last = await deliveries.lastPosition()
    if (last === countedTo) return 0
    const counted = await rollUps.count(COUNTED_AT_ONCE)
    if (counted < COUNTED_AT_ONCE) countedTo = last
    return counted
  }

  return every({
    firstMilliseconds: FIRST_MILLISECONDS,
    async work() {
      const start = clock.monotonic()
      const counted = await count()
      if (counted >= COUNTED_AT_ONCE) return (clock.monotonic() - start) * PAUSES
      pause = counted < MAY_WAIT ? Math.min(pause * 2, MAX_MILLISECONDS) : FIRST_MILLISECONDS
      return pause
    },
    onFailed(error, inARow) {
      // A store that is away for long is one line in the log.
      if (inARow === 1) onFailed(error)
      return AFTER_FAILURE_MILLISECONDS
    },
  })
}
