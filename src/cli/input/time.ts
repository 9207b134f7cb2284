import { parseDuration } from '#src/lib/duration.ts'
import { type Input, Misuse, type Option } from '../command.ts'

export const periodOptions = {
  from: {
    value: 'TIME',
    about:
      'From this time on: 2026-11-21 or "2026-11-21 14:30" (local unless --utc), 2026-11-21T14:30:00Z, or 24h (ago)',
  },
  to: { value: 'TIME', about: 'Before this time, in the same forms' },
} as const satisfies Record<string, Option>

/** Reads a duration, in milliseconds. 0 is one only where the option says so. */
export function readDuration(input: Input, name: string, examples: string, takesZero = false): number | undefined {
  const text = input.text(name)
  const duration = text === undefined ? undefined : parseDuration(text)
  if (text === undefined || duration || (duration === 0 && takesZero)) return duration
  throw new Misuse(`--${name} takes a time such as ${examples}, not "${text}"`)
}

/** A lifetime in milliseconds: `--expires 90d`. */
export const readLifetime = (input: Input): number | undefined => readDuration(input, 'expires', '90d, 24h or 30m')

const ISO = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?))?(?: ?(Z|UTC|[+-]\d\d:\d\d))?$/i

/** Returns the times of `--from` (inclusive) and `--to` (exclusive), in milliseconds since 1970. */
export const readPeriod = (input: Input, now: number, isUtc = input.flag('utc')) => ({
  from: readMoment('--from', input.text('from'), now, isUtc),
  to: readMoment('--to', input.text('to'), now, isUtc),
})

export function readMoment(option: string, text: string | undefined, now: number, isUtc: boolean): number | undefined {
  if (text === undefined) return undefined
  const moment = momentOf(text, now, isUtc)
  if (moment === undefined)
    throw new Misuse(`${option} takes a time such as 2026-11-21, 2026-11-21T14:30:00Z or 24h (ago), not "${text}"`)
  return moment
}

/**
 * Milliseconds since 1970 of a date, a date and time, or a duration before now; undefined for any other text. Without a zone it
 * is local, also where output is in UTC: a command line means the same wherever its output goes.
 */
export function momentOf(text: string, now: number, isUtc: boolean): number | undefined {
  const ago = parseDuration(text)
  if (ago !== undefined) return now - ago
  const [, date = '', time = '00:00', zone = isUtc ? 'Z' : ''] = ISO.exec(text) ?? []
  const moment = Date.parse(`${date}T${time}${zone.toUpperCase().replace('UTC', 'Z')}`)
  // JavaScript takes the 30th of February for a day in March.
  if (Number.isNaN(moment) || new Date(`${date}T00:00Z`).toISOString().slice(0, 10) !== date) return undefined
  return moment
}
