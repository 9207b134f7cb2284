import { readdir, readFile } from 'node:fs/promises'
import { constants, type PerformanceNodeEntry, PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import type { Delays, LoopDelay } from '#src/http/connections/loop-delay.ts'
import type { Clock } from '#src/lib/clock.ts'
import { decimal, type Metrics } from '#src/lib/metrics.ts'

const NO_DELAY: Delays = { p50: 0, p90: 0, p99: 0, max: 0 }
/** Scrapes that follow each other at once, as those of two Prometheus servers may, show the same. */
const SAME_SCRAPE_MILLISECONDS = 1000

/** Describes the event loop of this thread, which is looked at while there are requests. */
export function describeEventLoop(metrics: Metrics, loopDelay: LoopDelay, clock: Pick<Clock, 'monotonic'>): void {
  const readNew = loopDelay.reader()
  let last = NO_DELAY
  let readAt = Number.NEGATIVE_INFINITY
  const seconds = (name: keyof Delays): number => last[name] / 1000
  const help = 'Delay of the event loop since the scrape before, while there were requests; 1.0 is the longest.'
  metrics.summary('nodejs_eventloop_delay_seconds', help, () => {
    const now = clock.monotonic()
    last = readNew() ?? (now - readAt < SAME_SCRAPE_MILLISECONDS ? last : NO_DELAY)
    readAt = now
    return [
      [{ quantile: decimal(0.5) }, seconds('p50')],
      [{ quantile: decimal(0.99) }, seconds('p99')],
      [{ quantile: decimal(1) }, seconds('max')],
    ]
  })
  // Read after the summary, in the order of their description.
  for (const name of ['p50', 'p90', 'p99', 'max'] as const) {
    const alias = `The same delay, ${name}, by the name that dashboards for Node know.`
    metrics.gauge(`nodejs_eventloop_lag_${name}_seconds`, alias, () => seconds(name))
  }
}

/** The names and bounds of prom-client. */
const COLLECTIONS = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
])
const COLLECTION_SECONDS = [0.001, 0.01, 0.1, 1, 2, 5]

/** Describes the garbage collections of this thread. Returns a function that ends the counting. */
export function describeGarbageCollection(metrics: Metrics): () => void {
  const help = 'Duration of garbage collections in the main thread.'
  const histogram = metrics.histogram('nodejs_gc_duration_seconds', help, COLLECTION_SECONDS)
  const ofKind = new Map(Array.from(COLLECTIONS, ([number, kind]) => [number, histogram({ kind })]))
  const observer = new PerformanceObserver((list) => {
    for (const { detail, duration } of list.getEntries() as PerformanceNodeEntry[])
      ofKind.get(detail.kind)?.observe(duration / 1000)
  })
  observer.observe({ entryTypes: ['gc'] })
  return () => observer.disconnect()
}

/** Describes what V8 holds for this thread: the others have heaps of their own. */
export function describeHeap(metrics: Metrics): void {
  metrics.gauge('nodejs_heap_size_total_bytes', 'Heap of the main thread.', () => getHeapStatistics().total_heap_size)
  metrics.gauge('nodejs_heap_size_used_bytes', 'Used part of that heap.', () => getHeapStatistics().used_heap_size)
  const outside = 'Memory outside of the heap that its objects hold, such as buffers.'
  metrics.gauge('nodejs_external_memory_bytes', outside, () => getHeapStatistics().external_memory)
  for (const [part, key] of [
    ['total', 'space_size'],
    ['used', 'space_used_size'],
    ['available', 'space_available_size'],
  ] as const)
    metrics.gauge(`nodejs_heap_space_size_${part}_bytes`, `Spaces of that heap: ${part}.`, () =>
      getHeapSpaceStatistics().map((space) => [{ space: space.space_name.replace(/_space$/, '') }, space[key]]),
    )
}

export function describeProcess(metrics: Metrics, now: number): void {
  metrics.gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss())
  metrics.readCounter('process_cpu_seconds_total', 'Processor time, of the system too.', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  // Less the folder itself, which is open meanwhile. Without /proc it fails, and the metric is left out.
  metrics.gauge('process_open_fds', 'Open file descriptors.', async () => (await readdir('/proc/self/fd')).length - 1)
  metrics.gauge('process_max_fds', 'File descriptors that may be open (ulimit -n).', async () => {
    const [, soft] = /^Max open files +(\d+)/m.exec(await readFile('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? undefined : Number(soft)
  })
  const startedAt = now / 1000 - process.uptime()
  metrics.gauge('process_start_time_seconds', 'Start of the process, in seconds since 1970.', () => startedAt)
}
