import type { Config } from '#src/config/load-config.ts'
import type { Metrics, Reading } from '#src/lib/metrics.ts'
import type { PurgeStore, WebhookStore } from '#src/store/store.ts'

type Settings = Pick<Config, 'retentionDays' | 'retentionUnsent'>

/** What stays longer than the settings say, because webhook endpoints have not taken it, as the last purge of a server counted it. */
export const heldBack = async (
  purges: Pick<PurgeStore, 'held'>,
  { retentionDays, retentionUnsent }: Settings,
): ReturnType<PurgeStore['held']> => (retentionDays === 0 || retentionUnsent === 'on' ? [] : purges.held())

interface Stores {
  readonly purges: Pick<PurgeStore, 'held'>
  readonly webhooks: Pick<WebhookStore, 'list'>
}

export function describeUnsent(metrics: Metrics, { purges, webhooks }: Stores, settings: Settings): void {
  metrics.gauge(
    'teslim_retention_held',
    'Deliveries older than TESLIM_RETENTION_DAYS that stay because an endpoint has not taken them, at the last daily purge.',
    async () => (await heldBack(purges, settings)).map(({ id, kept }): Reading => [{ endpoint: id }, kept]),
  )
  metrics.readCounter(
    'teslim_webhook_purged_unsent_total',
    'Deliveries that purges have removed before an endpoint had taken them.',
    async () => (await webhooks.list()).map(({ id, removedUnsent }): Reading => [{ endpoint: id }, removedUnsent]),
  )
}
