import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Clock } from '#src/lib/clock.ts'

/** Tells whether this process has more to do than it can. */
export interface Overload {
  /** Must be called once for each request. Returns whether to refuse it. */
  refuses(isRead: boolean): boolean
  /** Whether to skip optional work, such as compression. */
  isOverloaded(): boolean
}

const POLL_MILLISECONDS = 50
const LATE_MILLISECONDS = 250
/** A late turn with fewer requests is a pause of the machine and no overload. */
const MANY_REQUESTS = 100
const LATE_TURNS = 3
/** The share of the limit for old objects beyond which V8 would do little but collect garbage, and then end the process. */
const FULL_HEAP = 0.9
/** V8's limit of the heap includes these for young objects, unless `--max-semi-space-size` says otherwise. */
const YOUNG_BYTES = 96 * 1024 * 1024
/**
 * While everything is refused, V8 has no reason to collect: a heap that is full of garbage would stay so. One that is full of what is
 * needed is not collected all the time.
 */
const COLLECT_EVERY_MILLISECONDS = 1000
/** While the event loop is late, garbage is collected at this size: V8 would let the heap grow to 256 MB and more first. */
const COLLECT_BYTES = 96 * 1024 * 1024

/**
 * Polls the event loop and the heap. A loop that is late several times in a row with many requests each time refuses
 * reads, which cost it ten times as much as a refusal. A delivery costs little more than a refusal, so it is taken as long as the
 * queue is not full (docs/decisions/0025-overload.md).
 */
export function measureOverload(app: FastifyInstance, clock: Clock, heap = V8_HEAP): Overload {
  let polledAt = clock.monotonic()
  let requests = 0
  let lateTurns = 0
  let heapIsFull = false
  let collectAt = COLLECT_BYTES
  let collectedAt = Number.NEGATIVE_INFINITY

  const poll = (): void => {
    const isLate = clock.monotonic() - polledAt > LATE_MILLISECONDS && requests >= MANY_REQUESTS
    lateTurns = isLate ? lateTurns + 1 : 0
    let { used, old, oldLimit } = heap.statistics()
    heapIsFull = old > oldLimit * FULL_HEAP
    // V8 may have collected by itself.
    collectAt = Math.min(collectAt, Math.max(COLLECT_BYTES, used * 1.5))
    const isDue = heapIsFull && clock.monotonic() - collectedAt > COLLECT_EVERY_MILLISECONDS
    if (isDue || (isLate && used > collectAt)) {
      heap.collectGarbage()
      collectedAt = clock.monotonic()
      ;({ used, old, oldLimit } = heap.statistics())
      heapIsFull = old > oldLimit * FULL_HEAP
      collectAt = Math.max(COLLECT_BYTES, used * 1.5)
    }
    polledAt = clock.monotonic()
    requests = 0
  }

  const timer = setInterval(poll, POLL_MILLISECONDS).unref()
  app.addHook('onClose', async () => clearInterval(timer))
  return {
    refuses(isRead) {
      requests++
      return heapIsFull || (isRead && lateTurns >= LATE_TURNS)
    },
    isOverloaded: () => heapIsFull || lateTurns > 0,
  }
}

const YOUNG = new Set(['new_space', 'new_large_object_space'])

/** The heap's limits are those of V8, which ends the process when old objects reach theirs. */
function statistics() {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
  let old = used
  for (const { space_name: name, space_used_size: size } of getHeapSpaceStatistics()) if (YOUNG.has(name)) old -= size
  return { used, old, oldLimit: Math.max(limit - YOUNG_BYTES, limit / 2) }
}

export const V8_HEAP = { statistics, collectGarbage }

let gc: (() => void) | undefined

/** Node gives this function only to programs that ask for it. */
function collectGarbage(): void {
  if (gc === undefined) {
    setFlagsFromString('--expose-gc')
    gc = runInNewContext('gc') as () => void
  }
  gc()
}

const QUIET_MILLISECONDS = 1000

/** Logs one line when overload refusals begin and one when they end, not one a request. */
export function createOverloadLog(log: FastifyBaseLogger): (errorCode: string) => void {
  let refused = 0
  let seen = 0

  const poll = (timer: NodeJS.Timeout): void => {
    if (refused > seen) {
      seen = refused
      return
    }
    clearInterval(timer)
    log.info({ refused }, 'keeping up again')
    refused = 0
    seen = 0
  }

  return (errorCode) => {
    refused++
    if (refused > 1) return
    log.warn({ errorCode }, 'overloaded: excess requests get 503')
    const timer = setInterval(() => poll(timer), QUIET_MILLISECONDS).unref()
  }
}
