import type { Begin, End } from '#src/webhook/endpoints/begin.ts'
import { readBegin } from '#src/webhook/endpoints/read-begin.ts'
import { Misuse } from '../command.ts'
import { momentOf } from '../input/time.ts'

const FORMS = 'a cursor of the feed, or a time such as 2026-11-21, 2026-11-21T14:30:00Z or 24h (ago)'

/** Reads --from: one of these words, a cursor or a time. */
export function readFrom(text: string, now: number, isUtc: boolean, words: readonly ('now' | 'start')[]): Begin {
  const begin = readBegin(text, (each) => momentOf(each, now, isUtc))
  if (typeof begin !== 'string') return readPlace('--from', begin, text, now, `${words.join(', ')}, ${FORMS}`)
  if (!words.includes(begin)) throw new Misuse(`--from takes ${words.join(', ')}, ${FORMS}, not "${text}"`)
  return begin
}

/** Reads --to: a cursor or a time. */
export function readTo(text: string, now: number, isUtc: boolean): End {
  const end = readBegin(text, (each) => momentOf(each, now, isUtc))
  if (typeof end === 'string') throw new Misuse(`--to takes ${FORMS}, not "${text}"`)
  return readPlace('--to', end, text, now, FORMS)
}

function readPlace(option: string, place: End, text: string, now: number, forms: string): End {
  if ('time' in place) {
    if (place.time > now) throw new Misuse(`${option} takes a time that is not in the future, not "${text}"`)
    return place
  }
  // Every cursor begins like this.
  if (!/^c[\w-]{20,}$/.test(text)) throw new Misuse(`${option} takes ${forms}, not "${text}"`)
  return place
}
