import type { Problem } from '#src/lib/app-error.ts'
import { readTime } from '#src/lib/time/read-time.ts'

export interface Period {
  /** Milliseconds since 1970, inclusive. */
  readonly from?: number | undefined
  /** Milliseconds since 1970, exclusive. */
  readonly to?: number | undefined
}

/** Reads the parameters `from` and `to`. */
export function readPeriod(query: { readonly from?: string; readonly to?: string }): {
  readonly period: Period
  readonly problems: readonly Problem[]
} {
  const problems: Problem[] = []
  const timeOf = (name: 'from' | 'to'): number | undefined => {
    const text = query[name]
    const time = text === undefined ? undefined : readTime(text)
    if (text !== undefined && time === undefined) {
      const message = 'must be a time with its zone, such as 2026-11-21T09:00:00Z, or a day'
      problems.push({ path: `query/${name}`, message })
    }
    return time
  }
  return { period: { from: timeOf('from'), to: timeOf('to') }, problems }
}
