import type { Config, Variables } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Metrics } from '#src/lib/metrics/metrics.ts'
import type { Random } from '#src/lib/random.ts'
import { createArrivals } from '#src/purchase/feed/arrivals.ts'
import { createFeed } from '#src/purchase/feed/feed.rule.ts'
import type { Store } from '#src/store/store.ts'
import { readProxies } from '../send/proxies.ts'
import { createSender, type Sender, type SenderOptions } from '../send/sender.ts'
import { createWebhookSecrets } from '../webhook-secrets.ts'
import { createBodies } from './bodies.ts'
import { createEngine, type Engine } from './engine.ts'
import type { PushLog } from './failing-log.ts'
import { createPushMetrics } from './push-metrics.ts'
import type { RunState } from './run.ts'
import { type After, systemTimers } from './timers.ts'

export interface PushOptions {
  readonly config: Pick<Config, 'secret' | 'formerSecret' | 'webhookAllow' | 'shutdownSeconds'>
  readonly proxyVariables?: Variables | undefined
  readonly store: Pick<Store, 'deliveries' | 'purges' | 'webhooks'>
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
  readonly log: PushLog
  readonly holder: string
  /** Replaced in tests, as are the sender and the timers. */
  readonly sending?: Partial<SenderOptions> | undefined
  readonly sender?: Sender
  readonly after?: After
}

/** Most of the time of a stop is for requests. */
const LONGEST_DRAIN_MILLISECONDS = 5000

/** Puts together what pushes deliveries. */
export function openPush(options: PushOptions): Pick<Engine, 'start' | 'stop' | 'look'> {
  const { config, proxyVariables = {}, store, clock, random, metrics, log, holder, sending } = options
  const { after = systemTimers } = options
  const { deliveries, purges, webhooks } = store
  const { secret, formerSecret, webhookAllow: allow, shutdownSeconds } = config
  const { sender = createSender({ allow, proxies: readProxies(proxyVariables), clock, ...sending }) } = options
  const secrets = createWebhookSecrets({ secret, formerSecret, random })
  const arrivals = createArrivals({
    deliveries,
    onFailed: (error) => log.warn({ err: error }, 'new deliveries could not be looked up for webhooks'),
  })
  let states = (): Map<string, RunState> => new Map()
  const engine = createEngine({
    webhooks,
    deliveries,
    purges,
    feed: createFeed({ deliveries, purges, arrivals, inWords: async (error) => error }),
    sender,
    bodyOf: createBodies(),
    clock,
    after,
    fraction: () => random(4).readUInt32BE() / 2 ** 32,
    holder,
    log,
    drainMilliseconds: Math.min(LONGEST_DRAIN_MILLISECONDS, shutdownSeconds * 250),
    async openSecrets(webhook) {
      const both = await secrets.signing(webhook, clock.now())
      const until = webhook.formerSecret?.until ?? 0
      return (now) => (now < until ? both : both.slice(0, 1))
    },
    count: createPushMetrics(metrics, webhooks, () => states()),
  })
  states = engine.states
  return {
    start: engine.start,
    look: engine.look,
    async stop() {
      await engine.stop()
      arrivals.close()
      await sender.close()
    },
  }
}
