import { availableParallelism } from 'node:os'
import type { FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { createHashWorkers, type HashWorkers } from './hash-workers.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Hashes and verifies passwords in threads. */
    readonly hashing: Pick<HashWorkers, 'hash' | 'verify'> & {
      /** The number of threads. */
      readonly concurrency: number
    }
  }
}

const plugin: FastifyPluginAsync<{ readonly config: Config }> = async (app, { config }) => {
  const concurrency = config.hashConcurrency || Math.max(1, availableParallelism() - 1)
  const workers = createHashWorkers(concurrency)
  app.decorate('hashing', { hash: workers.hash, verify: workers.verify, concurrency })
  app.addHook('onClose', () => workers.close())
}

export const hashingPlugin = fastifyPlugin(plugin, { name: 'hashing' })
