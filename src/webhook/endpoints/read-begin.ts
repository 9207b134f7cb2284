import { readTime } from '#src/lib/time/read-time.ts'
import type { Begin } from './begin.ts'

/** Reads `now`, `start`, a time or a cursor; `timeOf` may know more forms of times. Whether a cursor is one shows later. */
export function readBegin(text: string, timeOf: (text: string) => number | undefined = readTime): Begin {
  if (text === 'now' || text === 'start') return text
  const time = timeOf(text)
  return time === undefined ? { cursor: text } : { time }
}

/** Says what is wrong with a place that came over HTTP. */
export function placeProblem(place: Begin, now: number): string | undefined {
  if (typeof place === 'string') return undefined
  // It would leave out what comes in until then.
  if ('time' in place) return place.time > now ? 'must not be in the future' : undefined
  return /^c[\w-]+$/.test(place.cursor) ? undefined : 'must be now, start, a cursor, or a time with its zone'
}
