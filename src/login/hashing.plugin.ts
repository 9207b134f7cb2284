import { availableParallelism } from 'node:os'
import type { FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { createHashQueue, createHashWorkers, type HashQueue, type Passwords } from './hashing.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Hashes and verifies passwords in threads. */
    readonly hashing: Pick<Passwords, 'hash' | 'verify'> & {
      /** The queue in which logins wait for it. */
      readonly queue: HashQueue
    }
  }
}

/** Logins beyond the number of threads: they are counted in the store while others are hashed. */
const COUNTING_MEANWHILE = 2

const plugin: FastifyPluginAsync<{ readonly config: Config }> = async (app, { config }) => {
  const threads = config.hashConcurrency || Math.max(1, availableParallelism() - 1)
  const { hash, verify, close } = createHashWorkers(threads)
  const queue = createHashQueue({ maxRunning: threads + COUNTING_MEANWHILE, maxWaiting: config.hashQueue })
  app.decorate('hashing', { hash, verify, queue })
  app.addHook('onClose', close)
}

export const hashingPlugin = fastifyPlugin(plugin, { name: 'hashing' })
