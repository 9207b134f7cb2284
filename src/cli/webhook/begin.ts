import type { Begin } from '#src/webhook/endpoints/begin.ts'
import { readBegin } from '#src/webhook/endpoints/read-begin.ts'
import { Misuse } from '../command.ts'
import { momentOf } from '../input/time.ts'

/** Reads --from: one of these words, a cursor or a time. */
export function readFrom(text: string, now: number, words: readonly ('now' | 'start')[]): Begin {
  const begin = readBegin(text, (each) => momentOf(each, now))
  const forms = `${words.join(', ')}, a cursor of the feed, or a time such as 2026-11-21, 2026-11-21T14:30:00Z or 24h (ago)`
  if (typeof begin === 'string') {
    if (!words.includes(begin)) throw new Misuse(`--from takes ${forms}, not "${text}"`)
    return begin
  }
  if ('time' in begin) {
    if (begin.time > now) throw new Misuse(`--from takes a time that is not in the future, not "${text}"`)
    return begin
  }
  // Every cursor begins like this.
  if (!/^c[\w-]{20,}$/.test(text)) throw new Misuse(`--from takes ${forms}, not "${text}"`)
  return begin
}
