import type { Clock } from '#src/lib/clock.ts'
import { type Histogram, quantileOf } from '#src/lib/metrics.ts'

export interface Latency {
  /** Null if nothing was answered. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
}

export type RecentLatency = ReturnType<typeof createRecentLatency>

const PERIOD_MILLISECONDS = 60_000

/** Tells how long answers took lately, and how many failed, from what counts since the start. Costs nothing for an answer. */
export function createRecentLatency(
  { bounds, counts }: Histogram,
  failures: () => number,
  clock: Pick<Clock, 'monotonic'>,
) {
  const next = () => ({ at: clock.monotonic(), counts: counts.slice(), failures: failures() })
  /** The first one is the latest that is a period old, or the oldest. */
  let samples = [next()]

  return {
    /** Must be called every few seconds. */
    sample() {
      const sample = next()
      const { at } = sample
      samples.push(sample)
      const kept = samples.findLastIndex((sample) => at - sample.at >= PERIOD_MILLISECONDS)
      samples = samples.slice(Math.max(kept, 0))
    },
    /** Covers the last minute, or slightly more: it begins at a sample. */
    read: () => latencyOf(bounds, counts, samples[0]?.counts),
    /** How many answers in that time were failures. */
    failed: () => failures() - (samples[0]?.failures ?? 0),
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
