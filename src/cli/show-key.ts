import type { ApiKeyView } from '#src/customer/api-key.rule.ts'

const iso = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : new Date(milliseconds).toISOString()

/** A key as JSON shows it. */
export const keyJson = ({ id, customerId, label, state, createdAt, expiresAt, revokedAt, lastUse }: ApiKeyView) => ({
  id,
  customerId,
  label,
  state,
  createdAt: iso(createdAt),
  expiresAt: iso(expiresAt),
  revokedAt: iso(revokedAt),
  lastUsedAt: iso(lastUse?.usedAt ?? null),
  lastUsedFrom: lastUse?.address ?? null,
})
