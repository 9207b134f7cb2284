export const HOUR_MILLISECONDS = 3_600_000
export const DAY_MILLISECONDS = 86_400_000

const MILLISECONDS = { s: 1000, m: 60_000, h: HOUR_MILLISECONDS, d: DAY_MILLISECONDS } as const

/** Converts `45s`, `30m`, `24h`, `90d` or `0` to milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  return amount === undefined ? undefined : Number(amount) * MILLISECONDS[unit as keyof typeof MILLISECONDS]
}
