import { readdir, readFile } from 'node:fs/promises'
import { constants, monitorEventLoopDelay, type PerformanceNodeEntry, PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import { decimal, type Metrics } from '#src/lib/metrics.ts'

/** Node measures the delay of a timer with this interval, and reports the interval as a part of it. */
const RESOLUTION_MILLISECONDS = 20

/** Describes the event loop of this thread. Returns a function that ends the sampling. */
export function describeEventLoop(metrics: Metrics): () => void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MILLISECONDS })
  delay.enable()
  const seconds = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - RESOLUTION_MILLISECONDS / 1000)
  const read = () => ({
    p50: seconds(delay.percentile(50)),
    p90: seconds(delay.percentile(90)),
    p99: seconds(delay.percentile(99)),
    max: seconds(delay.percentile(100)),
  })
  let last = read()
  const help = 'Delay of the event loop since the scrape before; 1.0 is the longest.'
  metrics.summary('nodejs_eventloop_delay_seconds', help, () => {
    // Nothing was sampled between two scrapes at once.
    if (delay.count > 0) last = read()
    delay.reset()
    return [
      [{ quantile: decimal(0.5) }, last.p50],
      [{ quantile: decimal(0.99) }, last.p99],
      [{ quantile: decimal(1) }, last.max],
    ]
  })
  // Read after the summary, in the order of their description.
  for (const name of ['p50', 'p90', 'p99', 'max'] as const) {
    const alias = `The same delay, ${name}, by the name that dashboards for Node know.`
    metrics.gauge(`nodejs_eventloop_lag_${name}_seconds`, alias, () => last[name])
  }
  return () => void delay.disable()
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
