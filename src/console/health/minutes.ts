import type { Clock } from '#src/lib/clock.ts'
import type { Histogram } from '#src/lib/metrics.ts'
import { type Latency, latencyOf } from '../recent-latency.ts'

/** One minute of this process. */
export interface Minute extends Latency {
  /** When it began, in milliseconds since 1970. */
  readonly at: number
  readonly requests: number
  /** Answers with a status of 500 or more. */
  readonly failed: number
  readonly eventLoopP99Ms: number | null
  readonly rssBytes: number
  /** Of one processor; more than 100 with several threads at work. */
  readonly cpuPercent: number
}

/** What the process counts anyway. */
interface MinuteSources {
  /** Since the start. */
  totals(): { readonly requests: number; readonly failed: number }
  /** Since the start. */
  readonly durations: Histogram
  /** Since the start. */
  cpuMilliseconds(): number
  /** Since this was asked before. */
  eventLoopP99Ms(): number | null
  rssBytes(): number
}

const MINUTE_MILLISECONDS = 60_000
const MAX_MINUTES = 60

/** Notes each minute once it is over: the differences between counts that are kept anyway. */
export function createMinutes(sources: MinuteSources, clock: Clock) {
  const minutes: Minute[] = []
  const minuteNow = (): number => Math.floor(clock.now() / MINUTE_MILLISECONDS)
  const read = () => ({
    minute: minuteNow(),
    begun: clock.now(),
    monotonic: clock.monotonic(),
    counts: sources.durations.counts.slice(),
    cpu: sources.cpuMilliseconds(),
    ...sources.totals(),
  })
  let former = read()

  return {
    /** Must be called several times a minute. */
    sample() {
      if (minuteNow() === former.minute) return
      const now = read()
      const passed = Math.max(1, now.monotonic - former.monotonic)
      minutes.push({
        at: former.begun,
        requests: now.requests - former.requests,
        failed: now.failed - former.failed,
        ...latencyOf(sources.durations.bounds, now.counts, former.counts),
        eventLoopP99Ms: sources.eventLoopP99Ms(),
        rssBytes: sources.rssBytes(),
        cpuPercent: Math.round(((now.cpu - former.cpu) / passed) * 1000) / 10,
      })
      if (minutes.length > MAX_MINUTES) minutes.shift()
      former = now
    },
    /** The last hour without the minute under way, oldest first. */
    list: (): readonly Minute[] => minutes,
  }
}
