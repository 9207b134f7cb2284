import { type Input, Misuse, type Option } from '../command.ts'

const MOST = 100_000

export const limitOption = (fallback: number, which: string): Option => ({
  type: 'string',
  value: 'NUMBER',
  about: `At most this many, ${which}; ${fallback} if not given`,
})

export function readLimit(input: Input, fallback: number): number {
  const text = input.text('limit') ?? String(fallback)
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > MOST) throw new Misuse(`--limit takes a whole number from 1 to ${MOST}, not "${text}"`)
  return limit
}
