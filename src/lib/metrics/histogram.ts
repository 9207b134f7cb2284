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
