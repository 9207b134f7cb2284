import type { Webhook } from '#src/store/store.ts'

export const STANDINGS = ['active', 'failing', 'behind', 'paused'] as const
export type Standing = (typeof STANDINGS)[number]

/** As the alert TeslimWebhookBehind in deploy/prometheus/alerts.yml. */
export const BEHIND_MILLISECONDS = 600_000

/** Says how an endpoint is doing: everything that shows endpoints to operators asks here. */
export function standingOf(
  { paused, failing, silentUntil }: Pick<Webhook, 'paused' | 'failing' | 'silentUntil'>,
  behindMilliseconds: number,
): Standing {
  if (paused !== null) return 'paused'
  if (failing > 0 || silentUntil !== null) return 'failing'
  return behindMilliseconds > BEHIND_MILLISECONDS ? 'behind' : 'active'
}
