import type { ApiKeyView } from '#src/customer/api-key.rule.ts'

const iso = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : new Date(milliseconds).toISOString()

/** A key as JSON shows it. */
export const keyJson = (key: ApiKeyView) => ({
  id: key.id,
  customerId: key.customerId,
  label: key.label,
  state: key.state,
  createdAt: iso(key.createdAt),
  expiresAt: iso(key.expiresAt),
  expiresSoon: key.expiresSoon,
  revokedAt: iso(key.revokedAt),
  successorId: key.successorId,
  lastUsedAt: iso(key.lastUse?.usedAt ?? null),
  lastUsedFrom: key.lastUse?.address ?? null,
})

/** How long a key that was just made is good for, in words. */
export const validity = ({ expiresAt }: ApiKeyView): string =>
  `valid ${expiresAt === null ? 'until it is revoked' : `until ${iso(expiresAt)}`}`

/** Its state in words: `live, expires in 3 days`. */
export function describeState({ state, expiresSoon, expiresAt }: ApiKeyView, now: number): string {
  return expiresSoon ? `${state}, expires in ${inWords((expiresAt ?? now) - now)}` : state
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const

/** Rounded down, so that nobody counts on time that is not there. */
function inWords(milliseconds: number): string {
  for (const [unit, length] of UNITS) {
    const count = Math.floor(milliseconds / length)
    if (count > 0) return `${count} ${unit}${count === 1 ? '' : 's'}`
  }
  return 'less than a minute'
}
