import fastifyPlugin from 'fastify-plugin'
import type { PluginWith } from '#src/http/parts.ts'
import { describeUnsent } from './held.ts'
import { createDeliveryRetention } from './retention.ts'

const plugin: PluginWith<'config' | 'store' | 'clock' | 'metrics'> = async (app, { config, store, clock, metrics }) => {
  const retention = createDeliveryRetention(store, clock, app.log, config)
  describeUnsent(metrics, store, config)
  app.readiness.onceOpen(() => retention.start())
  app.addHook('preClose', () => retention.stop())
}

export const retentionPlugin = fastifyPlugin(plugin, { name: 'retention' })
