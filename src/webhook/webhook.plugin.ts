import type { FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config, Variables } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import { newId } from '#src/lib/ids.ts'
import type { Metrics } from '#src/lib/metrics/metrics.ts'
import type { Random } from '#src/lib/random.ts'
import type { Store } from '#src/store/store.ts'
import { openPush } from './push/open-push.ts'
import type { SenderOptions } from './send/sender.ts'

export interface WebhookOptions {
  readonly config: Config
  readonly proxyVariables: Variables | undefined
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
  /** Replaced in tests. */
  readonly sending?: Partial<SenderOptions> | undefined
}

const plugin: FastifyPluginAsync<WebhookOptions> = async (app, options) => {
  const { clock, random } = options
  const push = openPush({ ...options, holder: newId(clock.now(), random), log: app.log })
  let isClosing = false
  let stopping: Promise<void> | undefined

  app.addHook('onReady', async () => {
    if (!isClosing) push.start()
  })
  // Attempts end while requests do.
  app.addHook('preClose', async () => {
    isClosing = true
    stopping = push.stop()
  })
  app.addHook('onClose', async () => stopping)
}

/** Pushes deliveries to the endpoints that the store has, together with the other processes on the same store. */
export const webhookPlugin = fastifyPlugin(plugin, { name: 'webhook' })
