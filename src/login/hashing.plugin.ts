import { availableParallelism } from 'node:os'
import type { FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
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

/** One core is left to the thread that serves requests. */
const MAX_THREADS = Math.max(1, availableParallelism() - 1)
/** Logins beyond the number of threads: they are counted in the store while others are hashed. */
const COUNTING_MEANWHILE = 2
/** With one thread the last of them waits about a second. Later ones are refused at once, since their clients would give up. */
const MAX_WAITING = 32

const plugin: FastifyPluginAsync = async (app) => {
  const { hash, verify, close } = createHashWorkers(MAX_THREADS)
  const queue = createHashQueue({ maxRunning: MAX_THREADS + COUNTING_MEANWHILE, maxWaiting: MAX_WAITING })
  app.decorate('hashing', { hash, verify, queue })
  app.addHook('onClose', close)
}

export const hashingPlugin = fastifyPlugin(plugin, { name: 'hashing' })
