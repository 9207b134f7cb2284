import { createHistogram } from 'node:perf_hooks'

/** How late the event loop of this thread was, in milliseconds. */
export interface Delays {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

/** Keeps how late the event loop was, for readers that each read at times of their own. Nobody looks while there are no requests. */
export type LoopDelay = ReturnType<typeof createLoopDelay>

/** A histogram counts from one on. */
const UNITS = 1000

export function createLoopDelay() {
  const histograms: ReturnType<typeof createHistogram>[] = []
  return {
    note(milliseconds: number) {
      for (const histogram of histograms) histogram.record(Math.max(1, Math.round(milliseconds * UNITS)))
    },
    /** Returns a function that reads what was noted since it was called before; undefined for nothing. */
    reader() {
      const histogram = createHistogram()
      histograms.push(histogram)
      return (): Delays | undefined => {
        if (histogram.count === 0) return undefined
        const at = (part: number): number => histogram.percentile(part) / UNITS
        const delays = { p50: at(50), p90: at(90), p99: at(99), max: at(100) }
        histogram.reset()
        return delays
      }
    },
  }
}
