import { readdir } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { decimal, type Metrics, type Reading } from '#src/lib/metrics.ts'

/** Node measures the delay of a timer with this interval, and reports the interval as a part of it. */
const RESOLUTION_MILLISECONDS = 20
const QUANTILES = [0.5, 0.99, 1]

/** Describes the event loop of this thread. Returns a function that ends the sampling. */
export function describeEventLoop(metrics: Metrics): () => void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MILLISECONDS })
  delay.enable()
  const secondsAt = (quantile: number): number =>
    Math.max(0, delay.percentile(quantile * 100) / 1e9 - RESOLUTION_MILLISECONDS / 1000)
  const read = (): Reading[] => QUANTILES.map((quantile) => [{ quantile: decimal(quantile) }, secondsAt(quantile)])
  let last = read()
  const help = 'Delay of the event loop since the scrape before; 1.0 is the longest.'
  metrics.summary('nodejs_eventloop_delay_seconds', help, () => {
    // Nothing was sampled between two scrapes at once.
    if (delay.count > 0) last = read()
    delay.reset()
    return last
  })
  return () => void delay.disable()
}

export function describeProcess(metrics: Metrics, now: number): void {
  metrics.gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss())
  metrics.readCounter('process_cpu_seconds_total', 'Processor time, of the system too.', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  // Less the folder itself, which is open meanwhile. Without /proc it fails, and the metric is left out.
  metrics.gauge('process_open_fds', 'Open file descriptors.', async () => (await readdir('/proc/self/fd')).length - 1)
  const startedAt = now / 1000 - process.uptime()
  metrics.gauge('process_start_time_seconds', 'Start of the process, in seconds since 1970.', () => startedAt)
}
