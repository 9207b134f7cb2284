import { isWithin } from '#src/customer/networks.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import type { ApiKey } from '#src/store/store.ts'
import type { Times } from '../output/times.ts'

const MINUTE_MILLISECONDS = 60_000
/** A duration has at most six digits. */
const MAX_MINUTES = 999_999

/** Returns the limits of a key that a restore has widened, with the options of `key set` that narrow them again. */
export function limitsUndone(
  before: ApiKey,
  after: ApiKey,
  now: number,
  times: Times,
): [happened: string, options: string[]][] {
  const found: [string, string[]][] = []
  const { networks: only, expiresAt: end } = before
  const from = only === null ? [] : (after.networks?.filter((network) => !isWithin(network, only)) ?? ['anywhere'])
  if (from.length > 0) found.push([`may be used from ${from.join(', ')} again`, ['--from', `${only?.join()}`]])
  if (isWiderRate(before.rateLimit, after.rateLimit))
    found.push([`${rateText(after.rateLimit)} again`, ['--rate', `${before.rateLimit ?? 'none'}`]])
  if (end !== null && (after.expiresAt === null || after.expiresAt > end)) {
    const until = after.expiresAt === null ? 'until it is revoked' : `until ${times.stamp(after.expiresAt)}`
    found.push([`is valid ${until} again`, ['--expires', durationText(end - now)]])
  }
  return found
}

/** Whether a limit may allow more than another one. What the server itself allows is not known here. */
function isWiderRate(before: number | null, after: number | null): boolean {
  if (before === after || before === 0) return false
  return before === null || after === null || after === 0 || after > before
}

function rateText(rate: number | null): string {
  if (rate === null) return 'has no limit of its own'
  return `may make ${rate === 0 ? 'any number of' : rate} deliveries a minute`
}

function durationText(milliseconds: number): string {
  const minutes = Math.max(1, Math.floor(milliseconds / MINUTE_MILLISECONDS))
  return minutes <= MAX_MINUTES ? `${minutes}m` : `${Math.floor(milliseconds / DAY_MILLISECONDS)}d`
}
