import type { FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Metrics } from '#src/lib/metrics.ts'
import type { Store } from '#src/store/store.ts'
import { describeUnsent } from './held.ts'
import { createDeliveryRetention } from './retention.ts'

interface RetentionOptions {
  readonly config: Config
  readonly store: Store
  readonly clock: Clock
  readonly metrics: Metrics
}

const plugin: FastifyPluginAsync<RetentionOptions> = async (app, { config, store, clock, metrics }) => {
  const { purges, audit } = store
  const retention = createDeliveryRetention({ purges, audit, clock, log: app.log }, config)
  describeUnsent(metrics, store, config)
  app.readiness.onceOpen(() => retention.start())
  app.addHook('preClose', () => retention.stop())
}

export const retentionPlugin = fastifyPlugin(plugin, { name: 'retention' })
