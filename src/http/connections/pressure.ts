import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '#src/lib/clock.ts'

/** Tells whether this process has more to do than it can. */
export interface Pressure {
  /** Must be called once for each request. Returns whether to refuse it, be it a delivery or a read. */
  refuses(isRead: boolean): boolean
}

const LOOK_EVERY_MILLISECONDS = 50
const LATE_MILLISECONDS = 250
/** A late turn with fewer requests is a pause of the machine and no overload. */
const MANY_REQUESTS = 100
const LATE_TURNS = 3
/** Of the heap limit. Beyond it V8 would do little but collect garbage, and then end the process. */
const FULL_HEAP = 0.9
/** While the event loop is late, garbage is collected at this size: V8 would let the heap grow to 256 MB and more first. */
const COLLECT_BYTES = 96 * 1024 * 1024

/**
 * Looks at the event loop and the heap now and then. A loop that is late several times in a row with many requests each time refuses
 * reads, which cost it ten times as much as a refusal. A delivery costs little more than a refusal, so it is taken as long as there is
 * room for it (docs/decisions/0025-overload.md).
 */
export function measurePressure(app: FastifyInstance, clock: Clock, heap = V8_HEAP): Pressure {
  let lookedAt = clock.monotonic()
  let requests = 0
  let lateTurns = 0
  let heapIsFull = false
  let collectAt = COLLECT_BYTES

  const look = (): void => {
    const isLate = clock.monotonic() - lookedAt > LATE_MILLISECONDS && requests >= MANY_REQUESTS
    lateTurns = isLate ? lateTurns + 1 : 0
    const { used_heap_size: used, heap_size_limit: limit } = heap.statistics()
    heapIsFull = used > limit * FULL_HEAP
    if (isLate && used > collectAt) {
      heap.collectGarbage()
      collectAt = Math.max(COLLECT_BYTES, heap.statistics().used_heap_size * 1.5)
    }
    lookedAt = clock.monotonic()
    requests = 0
  }

  const timer = setInterval(look, LOOK_EVERY_MILLISECONDS).unref()
  app.addHook('onClose', async () => clearInterval(timer))
  return {
    refuses(isRead) {
      requests++
      return heapIsFull || (isRead && lateTurns >= LATE_TURNS)
    },
  }
}

const V8_HEAP = { statistics: getHeapStatistics, collectGarbage }

let gc: (() => void) | undefined

/** Node gives this function only to programs that ask for it. */
function collectGarbage(): void {
  if (gc === undefined) {
    setFlagsFromString('--expose-gc')
    gc = runInNewContext('gc') as () => void
  }
  gc()
}
