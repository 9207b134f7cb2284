import type { Clock } from '#src/lib/clock.ts'
import { type Histogram, quantileOf } from '#src/lib/metrics.ts'

export interface Latency {
  /** Null if nothing was answered. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
}

export interface RecentLatency {
  /** Must be called every few seconds. */
  sample(): void
  /** Of the last minute, and of up to one sample more. */
  read(): Latency
}

const PERIOD_MILLISECONDS = 60_000

/** Tells how long answers took lately, from a histogram that counts since the start. Costs nothing for an answer. */
export function createRecentLatency({ bounds, counts }: Histogram, clock: Pick<Clock, 'monotonic'>): RecentLatency {
  /** The first one is the latest that is a period old, or the oldest. */
  let samples = [{ at: clock.monotonic(), counts: counts.slice() }]

  return {
    sample() {
      const at = clock.monotonic()
      samples.push({ at, counts: counts.slice() })
      const kept = samples.findLastIndex((sample) => at - sample.at >= PERIOD_MILLISECONDS)
      samples = samples.slice(Math.max(kept, 0))
    },
    read: () => latencyOf(bounds, counts, samples[0]?.counts),
  }
}

/** The latency of what was counted since the former counts. */
export function latencyOf(
  bounds: readonly number[],
  counts: Readonly<Float64Array>,
  former: Readonly<Float64Array> | undefined,
): Latency {
  const since = counts.map((count, bucket) => count - (former?.[bucket] ?? 0))
  const milliseconds = (quantile: number): number | null => {
    const seconds = quantileOf(bounds, since, quantile)
    // Microseconds: more digits would only look exact.
    return seconds === undefined ? null : Math.round(seconds * 1e6) / 1000
  }
  return { p50Ms: milliseconds(0.5), p99Ms: milliseconds(0.99) }
}
