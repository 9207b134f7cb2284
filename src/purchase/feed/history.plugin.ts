import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import type { Store } from '#src/store/store.ts'
import { createHistoryWatch } from './history-watch.ts'

export interface HistoryOptions {
  readonly config: Config
  readonly store: Store
}

const LOOK_EVERY_MILLISECONDS = 1000

const plugin: FastifyPluginAsync<HistoryOptions> = async (app, { config, store }) => {
  // A file has no failovers.
  if (config.databaseUrl.startsWith('sqlite:')) return
  const watch = createHistoryWatch({ history: store.history, log: app.log })
  const closing = new AbortController()
  const lookAgainAndAgain = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      // That the store is lost is logged elsewhere.
      await watch.look().catch(() => undefined)
      await wait(LOOK_EVERY_MILLISECONDS, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)
    }
  }
  app.readiness.onceOpen(() => void lookAgainAndAgain())
  app.addHook('preClose', async () => closing.abort())
}

export const historyPlugin = fastifyPlugin(plugin, { name: 'history' })
