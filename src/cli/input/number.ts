import { type Input, Misuse, type Option } from '../command.ts'

const MAX_LIMIT = 100_000

export const limitOption = (fallback: number, which: string): Option => ({
  value: 'NUMBER',
  about: `At most this many, ${which}; ${fallback} if not given`,
})

export const readLimit = (input: Input, fallback: number): number => readWhole(input, 'limit', 1, MAX_LIMIT) ?? fallback

/** Reads a whole number. `others` says what else the option takes. */
export function readWhole(input: Input, name: string, min: number, max: number, others = ''): number | undefined {
  const text = input.text(name)
  if (text === undefined) return undefined
  const value = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new Misuse(`--${name} takes a whole number from ${min} to ${max}${others}, not "${text}"`)
}
