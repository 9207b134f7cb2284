import { isoMilliseconds, isoOrNull } from '#src/lib/clock.ts'
import type { ApiKeyView } from './api-key.rule.ts'

/** A key as answers show it. `usualRate` holds for keys without a limit of their own; 0 is no limit. */
export const keyAnswer = ({ lastUse, expiresAt, ...key }: ApiKeyView, usualRate: number) => ({
  KeyID: key.id,
  Label: key.label,
  State: key.state,
  CreatedAt: isoMilliseconds(key.createdAt),
  ExpiresAt: isoOrNull(expiresAt),
  LastUse: lastUse && { UsedAt: isoMilliseconds(lastUse.usedAt), Address: lastUse.address },
  Networks: key.networks && [...key.networks],
  RateLimit: (key.rateLimit ?? usualRate) || null,
})
