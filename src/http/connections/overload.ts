import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '#src/lib/clock.ts'
import { collectGarbage, createRest } from '#src/lib/worker/rest.ts'
import { createLoopDelay, type LoopDelay } from './loop-delay.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly loopDelay: LoopDelay
  }
}

/** Tells whether this process has more to do than it can. */
export type Overload = ReturnType<typeof measureOverload>

/** How often is looked while there are many requests, and while there are some. */
const FAST_MILLISECONDS = 50
const SLOW_MILLISECONDS = 500
/** From so many requests between two looks on it looks often. */
const SOME_REQUESTS = 16
const LATE_MILLISECONDS = 200
/** A late turn with fewer requests is a pause of the machine and no overload. */
const MANY_REQUESTS = 100
const LATE_TURNS = 3
const NEVER = 0
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
 * Looks at the event loop and the heap while requests come: to look at an idle process would only wake it. A loop that is late several times in a row with many requests each time refuses
 * reads, which cost it ten times as much as a refusal. A delivery costs little more than a refusal, so it is taken as long as the
 * queue is not full (docs/decisions/0025-overload.md).
 */
export function measureOverload(app: FastifyInstance, clock: Clock, heap = V8_HEAP) {
  const loopDelay = createLoopDelay()
  const rest = createRest()
  let timer: NodeJS.Timeout | undefined
  let interval = 0
  let lookedAt = 0
  let requests = 0
  let lateTurns = 0
  let heapIsFull = false
  let collectAt = COLLECT_BYTES
  let collectedAt = Number.NEGATIVE_INFINITY

  const lookEvery = (milliseconds: number): void => {
    if (interval === milliseconds) return
    clearInterval(timer)
    interval = milliseconds
    timer = milliseconds === NEVER ? undefined : setInterval(look, milliseconds).unref()
    lookedAt = clock.monotonic()
  }

  const look = (): void => {
    rest.worked()
    const delay = clock.monotonic() - lookedAt - interval
    loopDelay.note(delay)
    const isLate = delay > LATE_MILLISECONDS && requests >= MANY_REQUESTS
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
    lookedAt = clock.monotonic()
    const isBusy = heapIsFull || lateTurns > 0 || requests >= SOME_REQUESTS
    const wasBusy = interval === FAST_MILLISECONDS
    lookEvery(isBusy ? FAST_MILLISECONDS : wasBusy || requests > 0 ? SLOW_MILLISECONDS : NEVER)
    requests = 0
  }

  app.decorate('loopDelay', loopDelay)
  rest.worked()
  app.addHook('onClose', async () => {
    lookEvery(NEVER)
    rest.end()
  })
  return {
    /** Must be called once for each request. Returns whether to refuse it. */
    refuses(isRead: boolean) {
      if (++requests === SOME_REQUESTS || timer === undefined) lookEvery(FAST_MILLISECONDS)
      return heapIsFull || (isRead && lateTurns >= LATE_TURNS)
    },
    /** Whether to skip optional work, such as compression. */
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
