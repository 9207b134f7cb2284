import type { End } from '#src/webhook/endpoints/begin.ts'
import { readBegin } from '#src/webhook/endpoints/read-begin.ts'
import { type Input, Misuse } from '../command.ts'
import { momentOf } from '../input/time.ts'

const FORMS = 'a cursor of the feed, or a time such as 2026-11-21, 2026-11-21T14:30:00Z or 24h (ago)'

/** Reads --from or --to: one of these words, a cursor or a time. Undefined if it is not given. */
export function readPlace<Word extends 'now' | 'start' = never>(
  input: Input,
  option: 'from' | 'to',
  now: number,
  words: readonly Word[] = [],
): Word | End | undefined {
  const text = input.text(option)
  if (text === undefined) return undefined
  const place = readBegin(text, (each) => momentOf(each, now, input.flag('utc')))
  const isTime = typeof place === 'object' && 'time' in place
  if (isTime && place.time > now) throw new Misuse(`--${option} takes a time that is not in the future, not "${text}"`)
  // Every cursor begins like this.
  if (isTime || (typeof place === 'object' && /^c[\w-]{20,}$/.test(text))) return place
  const word = words.find((each) => each === place)
  if (word !== undefined) return word
  throw new Misuse(`--${option} takes ${[...words, FORMS].join(', ')}, not "${text}"`)
}
