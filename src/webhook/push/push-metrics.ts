import type { Clock } from '#src/lib/clock.ts'
import type { Count, Metrics, Reading } from '#src/lib/metrics.ts'
import { sharedWork } from '#src/lib/shared-work.ts'
import type { WebhookStore } from '#src/store/store.ts'
import type { Endpoint, EndpointDependencies } from './endpoint.ts'

/** Seconds, from what nobody notices to a day. */
const DELAYS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300, 3600, 86_400]
const MAX_LOOKED_AT = 1000

/** Counts attempts, and shows the endpoints that the store has and those that this process pushes to, which are `endpoints`. */
export function createPushMetrics(
  metrics: Metrics,
  webhooks: Pick<WebhookStore, 'list' | 'oldestWaiting'>,
  clock: Clock,
  endpoints: () => Endpoint[],
): EndpointDependencies['count'] {
  const attempts = metrics.counter('teslim_webhook_attempts_total', 'Attempts to push a delivery to an endpoint.')
  const delay = metrics.histogram(
    'teslim_webhook_delay_seconds',
    'Time from the receipt of a delivery until an endpoint has confirmed it.',
    DELAYS,
  )({})
  const list = sharedWork(() => webhooks.list())
  metrics.gauge(
    'teslim_webhook_pending',
    'Deliveries that were read and that an endpoint has not confirmed, those that wait included; at the process that pushes to it.',
    async () => {
      const waiting = new Map((await list()).map((webhook) => [webhook.id, webhook.waiting]))
      return endpoints().map(({ id, state }): Reading => [{ endpoint: id }, state().pending + (waiting.get(id) ?? 0)])
    },
  )
  const behindSeconds = async ({ id, state }: Endpoint): Promise<Reading> => {
    const stored = (await webhooks.oldestWaiting(id, MAX_LOOKED_AT)) ?? Number.POSITIVE_INFINITY
    const now = clock.now()
    return [{ endpoint: id }, Math.max(0, now - Math.min(now, stored, state().oldestAt)) / 1000]
  }
  metrics.gauge(
    'teslim_webhook_behind_seconds',
    'Age of the oldest delivery that an endpoint has not confirmed; at the process that pushes to it.',
    () => Promise.all(endpoints().map(behindSeconds)),
  )
  metrics.gauge('teslim_webhook_set_aside', 'Deliveries that were set aside, by endpoint.', async () =>
    (await list()).map(({ id, setAside }): Reading => [{ endpoint: id }, setAside]),
  )
  metrics.gauge('teslim_webhook_paused', 'Whether an endpoint is paused, and why.', async () =>
    (await list()).map(
      ({ id, paused }): Reading => [{ endpoint: id, reason: paused?.reason ?? 'none' }, paused === null ? 0 : 1],
    ),
  )
  /** Labels cost more than everything else here. */
  const counts = new Map<string, Record<'success' | 'failure', Count>>()
  const countsOf = (endpoint: string) => {
    const known = counts.get(endpoint)
    if (known !== undefined) return known
    const both = {
      success: attempts({ endpoint, outcome: 'success' }),
      failure: attempts({ endpoint, outcome: 'failure' }),
    }
    counts.set(endpoint, both)
    return both
  }
  return (id, succeeded, delayMilliseconds) => {
    countsOf(id)[succeeded ? 'success' : 'failure'].value++
    if (succeeded) delay.observe(Math.max(0, delayMilliseconds) / 1000)
  }
}
