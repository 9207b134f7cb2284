import type { Config, Variables } from '#src/config/load-config.ts'
import { type After, type Clock, systemTimers } from '#src/lib/clock.ts'
import type { Log } from '#src/lib/log/logger.ts'
import type { Metrics } from '#src/lib/metrics.ts'
import type { Random } from '#src/lib/random.ts'
import { createArrivals } from '#src/purchase/feed/arrivals.ts'
import type { Store } from '#src/store/store.ts'
import { readProxies } from '../send/proxies.ts'
import { createSender, type Sender, type SenderOptions } from '../send/sender.ts'
import { createWebhookSecrets } from '../webhook-secrets.ts'
import type { Endpoint } from './endpoint.ts'
import { createHolding, type Holding } from './holding.ts'
import { createPayloads } from './payloads.ts'
import { createPushMetrics } from './push-metrics.ts'

export interface PushOptions {
  readonly config: Pick<Config, 'secret' | 'formerSecret' | 'webhookAllow' | 'shutdownSeconds'>
  readonly proxyVariables?: Variables | undefined
  readonly store: Pick<Store, 'deliveries' | 'purges' | 'webhooks'>
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
  readonly log: Log
  readonly holder: string
  /** Replaced in tests, as are the sender and the timers. */
  readonly sending?: Partial<SenderOptions> | undefined
  readonly sender?: Sender
  readonly after?: After
}

/** Most of the time of a stop is for requests. */
const MAX_DRAIN_MILLISECONDS = 5000

/** Puts together what pushes deliveries. */
export function openPush(options: PushOptions): Pick<Holding, 'start' | 'stop' | 'look'> {
  const { config, proxyVariables = {}, store, clock, random, metrics, log, holder, sending } = options
  const { after = systemTimers } = options
  const { deliveries, purges, webhooks } = store
  const { secret, formerSecret, webhookAllow: allow, shutdownSeconds } = config
  const { sender = createSender({ allow, proxies: readProxies(proxyVariables), clock, ...sending }) } = options
  const secrets = createWebhookSecrets({ secret, formerSecret, random })
  const arrivals = createArrivals(deliveries, (error) =>
    log.warn({ err: error }, 'new deliveries could not be looked up for webhooks'),
  )
  let endpoints = (): Endpoint[] => []
  const holding = createHolding({
    webhooks,
    deliveries,
    purges,
    arrivals,
    payloads: createPayloads(store, clock),
    sender,
    clock,
    after,
    fraction: () => random(4).readUInt32BE() / 2 ** 32,
    holder,
    log,
    drainMilliseconds: Math.min(MAX_DRAIN_MILLISECONDS, shutdownSeconds * 250),
    async openSecrets(webhook) {
      const both = await secrets.signing(webhook, clock.now())
      const until = webhook.formerSecret?.until ?? 0
      const headers = await secrets.headers(webhook)
      return { headers, signing: (now) => (now < until ? both : both.slice(0, 1)) }
    },
    count: createPushMetrics(metrics, webhooks, clock, () => endpoints()),
  })
  endpoints = holding.endpoints
  return {
    start: holding.start,
    look: holding.look,
    async stop() {
      await holding.stop()
      arrivals.close()
      await sender.close()
    },
  }
}
