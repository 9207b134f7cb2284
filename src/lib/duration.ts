export const HOUR_MILLISECONDS = 3_600_000
export const DAY_MILLISECONDS = 86_400_000

const MILLISECONDS = { s: 1000, m: 60_000, h: HOUR_MILLISECONDS, d: DAY_MILLISECONDS } as const

/** Converts `45s`, `30m`, `24h`, `90d` or `0` to milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  return amount === undefined ? undefined : Number(amount) * MILLISECONDS[unit as keyof typeof MILLISECONDS]
}

/** Writes milliseconds as `parseDuration` reads them, in the largest unit that holds them exactly. */
export function durationText(milliseconds: number): string {
  const units = Object.entries(MILLISECONDS).reverse()
  const [unit, one] = units.find(([, one]) => milliseconds % one === 0) ?? ['s', MILLISECONDS.s]
  return `${Math.round(milliseconds / one)}${unit}`
}

/** A server looks once a minute for who fell silent. */
export const MIN_SILENCE = MILLISECONDS.m
/** A year. */
export const MAX_SILENCE = 366 * DAY_MILLISECONDS

export const SILENCE_ALLOWED = 'off, or a time from 1m to 366d such as 24h'

/** Reads how long a supplier may be silent, in milliseconds: 0 for `off`; undefined for what is not allowed. */
export function parseSilence(text: string): number | undefined {
  if (text === 'off') return 0
  const duration = parseDuration(text) ?? 0
  return duration >= MIN_SILENCE && duration <= MAX_SILENCE ? duration : undefined
}
