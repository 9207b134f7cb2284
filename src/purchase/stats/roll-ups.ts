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
export const createRollUps = (parts: Counted, clock: Clock, onFailed: (error: unknown) => void): Repeated =>
  every({
    firstMilliseconds: FIRST_MILLISECONDS,
    work: createStep(parts, clock),
    onFailed(error, inARow) {
      // A store that is away for long is one line in the log.
      if (inARow === 1) onFailed(error)
      return AFTER_FAILURE_MILLISECONDS
    },
  })

interface Counted {
  readonly rollUps: Pick<RollUpStore, 'count'>
  readonly deliveries: Pick<DeliveryStore, 'lastPosition'>
}

/** Returns a function that counts a part, and returns after how many milliseconds it should be called again. */
export function createStep({ rollUps, deliveries }: Counted, clock: Clock): () => Promise<number> {
  let pause = FIRST_MILLISECONDS
  let countedTo = -1

  const count = async (): Promise<number> => {
    const last = await deliveries.lastPosition()
    if (last === countedTo) return 0
    const counted = await rollUps.count(COUNTED_AT_ONCE)
    if (counted < COUNTED_AT_ONCE) countedTo = last
    return counted
  }

  return async () => {
    const start = clock.monotonic()
    const counted = await count()
    if (counted >= COUNTED_AT_ONCE) return (clock.monotonic() - start) * PAUSES
    pause = counted < MAY_WAIT ? Math.min(pause * 2, MAX_MILLISECONDS) : FIRST_MILLISECONDS
    return pause
  }
}
