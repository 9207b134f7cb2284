import { availableParallelism } from 'node:os'
import type { FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
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

/** One core is left to the thread that serves requests. */
const MAX_THREADS = Math.max(1, availableParallelism() - 1)

const plugin: FastifyPluginAsync = async (app) => {
  const workers = createHashWorkers(MAX_THREADS)
  app.decorate('hashing', { hash: workers.hash, verify: workers.verify, concurrency: MAX_THREADS })
  app.addHook('onClose', () => workers.close())
}

export const hashingPlugin = fastifyPlugin(plugin, { name: 'hashing' })
