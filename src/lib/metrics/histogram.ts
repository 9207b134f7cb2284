/** Counts values by size. Observing costs a few additions. */
export interface Histogram {
  observe(value: number): void
  readonly bounds: readonly number[]
  /** One more than there are bounds: the last one counts what is above all of them. */
  readonly counts: Readonly<Float64Array>
  sum(): number
}

export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = new Float64Array(bounds.length + 1)
  const sum = new Float64Array(1)
  return {
    observe(value) {
      let bucket = 0
      while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++
      counts[bucket] = (counts[bucket] as number) + 1
      sum[0] = (sum[0] as number) + value
    },
    bounds,
    counts,
    sum: () => sum[0] as number,
  }
}

/** Seconds from half a millisecond to ten seconds. */
export const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/**
 * Estimates a quantile from counts by bucket, as Prometheus does: the values of a bucket count as evenly spread, and those above the
 * last bound as equal to it. Undefined without values.
 */
export function quantileOf(
  bounds: readonly number[],
  counts: Readonly<Float64Array>,
  quantile: number,
): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return undefined
  let before = 0
  for (const [bucket, bound] of bounds.entries()) {
    const count = counts[bucket] as number
    if (count > 0 && before + count >= total * quantile) {
      const lower = bounds[bucket - 1] ?? 0
      return lower + ((bound - lower) * (total * quantile - before)) / count
    }
    before += count
  }
  return bounds.at(-1)
}
