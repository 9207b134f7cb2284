import { readTime } from '#src/lib/time/read-time.ts'
import type { Begin } from './begin.ts'

/** Reads `now`, `start`, a time or a cursor; `timeOf` may know more forms of times. Whether a cursor is one shows later. */
export function readBegin(text: string, timeOf: (text: string) => number | undefined = readTime): Begin {
  if (text === 'now' || text === 'start') return text
  const time = timeOf(text)
  return time === undefined ? { cursor: text } : { time }
}
