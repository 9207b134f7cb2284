import { language, zone } from './preferences.ts'

type Time = string | number | Date

const made = new Map<string, unknown>()

/** Formatters are slow to make, so each is kept. */
function kept<Format>(key: string, make: () => Format): Format {
  if (!made.has(key)) made.set(key, make())
  return made.get(key) as Format
}

/** The chosen language, in the region that the browser prefers: en-GB writes days before months. */
const locale = () => {
  const chosen = language.value
  return navigator.languages.find((tag) => tag.slice(0, 2).toLowerCase() === chosen) ?? chosen
}

const timeFormat = (options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat => {
  const timeZone = zone.value === 'utc' ? 'UTC' : undefined
  return kept(
    `${language.value} ${timeZone} ${JSON.stringify(options)}`,
    () => new Intl.DateTimeFormat(locale(), { timeZone, hourCycle: 'h23', ...options }),
  )
}

const DAY = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
const TIME = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const

/** Takes a time as ISO text or milliseconds since 1970. */
export const dateTime = (at: Time) => timeFormat({ ...DAY, ...TIME }).format(new Date(at))
export const preciseTime = (at: Time) => timeFormat({ ...DAY, ...TIME, fractionalSecondDigits: 3 }).format(new Date(at))
export const day = (at: Time) => timeFormat(DAY).format(new Date(at))
export const clockTime = (at: Time) => timeFormat(TIME).format(new Date(at))
export const hourAndMinute = (at: Time) => timeFormat({ hour: '2-digit', minute: '2-digit' }).format(new Date(at))

/** Periods of whole days and months begin at midnight in UTC. */
export const utcDay = (at: Time) => timeFormat({ day: 'numeric', month: 'short', timeZone: 'UTC' }).format(new Date(at))
export const utcMonth = (at: Time) =>
  timeFormat({ month: 'long', year: 'numeric', timeZone: 'UTC' }).format(new Date(at))
export const utcShortMonth = (at: Time) => timeFormat({ month: 'short', timeZone: 'UTC' }).format(new Date(at))

/** The zone in which times are shown: `UTC` or, for example, `GMT+3`. */
export function zoneName() {
  if (zone.value === 'utc') return 'UTC'
  const parts = timeFormat({ timeZoneName: 'short' }).formatToParts(new Date())
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
}

const numberFormat = (options: Intl.NumberFormatOptions): Intl.NumberFormat =>
  kept(`${language.value} ${JSON.stringify(options)}`, () => new Intl.NumberFormat(locale(), options))

export const whole = (value: number) => numberFormat({ maximumFractionDigits: 0 }).format(value)
export const decimal = (value: number, digits = 1) => numberFormat({ maximumFractionDigits: digits }).format(value)

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

/** Bytes with one of the units of the International System: 1 kB is 1000 bytes. */
export function bytes(count: number): string {
  const power = Math.min(Math.max(Math.floor(Math.log10(Math.max(count, 1)) / 3), 0), UNITS.length - 1)
  const options = {
    style: 'unit',
    unit: UNITS[power],
    unitDisplay: power === 0 ? 'long' : 'short',
    maximumFractionDigits: 1,
  } as const
  return numberFormat(options).format(count / 1000 ** power)
}

const STEPS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

const SECOND = STEPS[3]

/** How long something takes: `1.5 hours`. */
export function duration(seconds: number): string {
  const [unit, size] = STEPS.find(([, size]) => seconds >= size) ?? SECOND
  const options = { style: 'unit', unit, unitDisplay: 'long', maximumFractionDigits: seconds < 60 ? 0 : 1 } as const
  return numberFormat(options).format(seconds / size)
}

/** How long ago something was: `3 hours ago`. */
export function ago(at: Time, now = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1000
  const [unit, size] = STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? SECOND
  const format = kept(`ago ${language.value}`, () => new Intl.RelativeTimeFormat(language.value, { numeric: 'auto' }))
  return format.format(Math.round(seconds / size), unit)
}
