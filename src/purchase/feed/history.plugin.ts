import fastifyPlugin from 'fastify-plugin'
import type { PluginWith } from '#src/http/parts.ts'
import { every } from '#src/lib/time/every.ts'
import { createHistoryWatch } from './history-watch.ts'

const POLL_EVERY_MILLISECONDS = 1000

const plugin: PluginWith<'config' | 'store'> = async (app, { config, store }) => {
  // A file has no failovers.
  if (config.databaseUrl.startsWith('sqlite:')) return
  const look = createHistoryWatch(store.history, app.log)
  const { start, stop } = every({
    firstMilliseconds: 0,
    async work() {
      await look()
      return POLL_EVERY_MILLISECONDS
    },
    // That the store is lost is logged elsewhere.
    onFailed: () => POLL_EVERY_MILLISECONDS,
  })
  app.readiness.onceOpen(start)
  app.addHook('preClose', async () => void stop())
}

export const historyPlugin = fastifyPlugin(plugin, { name: 'history' })
