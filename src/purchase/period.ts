import type { Problem } from '#src/lib/app-error.ts'
import { readTime } from '#src/lib/time/read-time.ts'
import type { DeliveryStore } from '#src/store/store.ts'

export interface Period {
  /** Milliseconds since 1970, inclusive. */
  readonly from?: number | undefined
  /** Milliseconds since 1970, exclusive. */
  readonly to?: number | undefined
}

/** Bounds how far the order by time may differ from commit order: clock skew between replicas, and the wait to be stored. */
const SLACK_MILLISECONDS = 300_000

/** Returns positions between which, first exclusive and last inclusive, all deliveries of a period lie. */
export async function positionsWithin({ from, to }: Period, deliveries: DeliveryStore) {
  const early = from === undefined ? 0 : await deliveries.positionAt(from - SLACK_MILLISECONDS)
  const later = to === undefined ? undefined : await deliveries.positionFrom(to + SLACK_MILLISECONDS)
  return { early, end: later ?? Number.MAX_SAFE_INTEGER }
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
