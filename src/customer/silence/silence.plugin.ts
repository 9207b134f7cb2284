import fastifyPlugin from 'fastify-plugin'
import type { PluginWith } from '#src/http/parts.ts'
import { createSilence } from './silence.rule.ts'
import { createSilenceWatch, type SilenceWatch } from './silence-watch.ts'

declare module 'fastify' {
  interface FastifyInstance {
    silenceWatch: SilenceWatch
  }
}

const plugin: PluginWith<'config' | 'store' | 'versions' | 'clock' | 'metrics'> = async (app, options) => {
  const { config, store, versions, clock, metrics } = options
  const silence = createSilence(store, config, clock)
  const watch = createSilenceWatch({ silence, apiKeys: store.apiKeys, versions, clock, log: app.log })
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
