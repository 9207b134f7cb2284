import type { FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { every } from '#src/lib/time/every.ts'
import type { Store } from '#src/store/store.ts'
import { createHistoryWatch } from './history-watch.ts'

export interface HistoryOptions {
  readonly config: Config
  readonly store: Store
}

const POLL_EVERY_MILLISECONDS = 1000

const plugin: FastifyPluginAsync<HistoryOptions> = async (app, { config, store }) => {
  // A file has no failovers.
  if (config.databaseUrl.startsWith('sqlite:')) return
  const watch = createHistoryWatch({ history: store.history, log: app.log })
  const { start, stop } = every({
    firstMilliseconds: 0,
    async work() {
      await watch.poll()
      return POLL_EVERY_MILLISECONDS
    },
    // That the store is lost is logged elsewhere.
    onFailed: () => POLL_EVERY_MILLISECONDS,
  })
  app.readiness.onceOpen(start)
  app.addHook('preClose', async () => void stop())
}

export const historyPlugin = fastifyPlugin(plugin, { name: 'history' })
