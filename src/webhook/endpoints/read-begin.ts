import { message } from '#src/lib/messages/message.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { readTime } from '#src/lib/time/read-time.ts'
import type { Begin } from './begin.ts'

/** Reads `now`, `start`, a time or a cursor; `timeOf` may know more forms of times. Whether a cursor is one shows later. */
export function readBegin(text: string, timeOf: (text: string) => number | undefined = readTime): Begin {
  if (text === 'now' || text === 'start') return text
  const time = timeOf(text)
  return time === undefined ? { cursor: text } : { time }
}

/** Reads a place that came over HTTP, in the field at `path`: one of these words, a cursor or a time. */
export function readPlace(path: string, text: string, words: readonly ('now' | 'start')[], now: number): Begin {
  const place = readBegin(text)
  const isTime = typeof place === 'object' && 'time' in place
  // A time to come would leave out what comes in until then.
  if (isTime && place.time > now) throw invalidRequest([{ path, message: message('FUTURE') }])
  if (isTime || (typeof place === 'string' ? words.includes(place) : /^c[\w-]+$/.test(place.cursor))) return place
  throw invalidRequest([{ path, message: message('NOT_A_PLACE', { forms: [...words, message('A_CURSOR')] }) }])
}
