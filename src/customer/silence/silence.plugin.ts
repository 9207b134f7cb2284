import type { FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Metrics } from '#src/lib/metrics.ts'
import type { Store } from '#src/store/store.ts'
import { createSilence } from './silence.rule.ts'
import { createSilenceWatch, type SilenceWatch } from './silence-watch.ts'

declare module 'fastify' {
  interface FastifyInstance {
    silenceWatch: SilenceWatch
  }
}

interface SilenceOptions {
  readonly config: Config
  readonly store: Store
  readonly clock: Clock
  readonly metrics: Metrics
}

const plugin: FastifyPluginAsync<SilenceOptions> = async (app, { config, store, clock, metrics }) => {
  const { apiKeys } = store
  const silence = createSilence(store, config, clock)
  const watch = createSilenceWatch({ silence, apiKeys, clock, log: app.log })
  metrics.gauge(
    'teslim_suppliers_silent',
    'Suppliers whose API keys were not used for longer than their silence, at the last look, a minute ago at most.',
    watch.count,
  )
  app.decorate('silenceWatch', watch)
  app.readiness.onceOpen(() => watch.start())
  app.addHook('preClose', () => watch.stop())
}

export const silencePlugin = fastifyPlugin(plugin, { name: 'silence' })
