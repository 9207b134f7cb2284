import type { FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Variables } from '#src/config/load-config.ts'
import type { Parts } from '#src/http/parts.ts'
import { systemTimers } from '#src/lib/clock.ts'
import { newId } from '#src/lib/random.ts'
import { openPush } from './push/push.ts'
import type { SenderOptions } from './send/sender.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Makes a change of an endpoint count at once if this thread pushes deliveries; others see it within a second. */
    obeyEndpointChanges(): Promise<void>
  }
}

interface WebhookOptions extends Pick<Parts, 'config' | 'store' | 'clock' | 'random' | 'metrics'> {
  readonly proxyVariables: Variables | undefined
  /** Replaced in tests. */
  readonly sending?: Partial<SenderOptions> | undefined
}

/** An answer about a change, which may have a new secret, waits no longer for what the change does. */
const MAX_WAIT_MILLISECONDS = 500

const plugin: FastifyPluginAsync<WebhookOptions> = async (app, options) => {
  const { clock, random } = options
  const push = openPush({ ...options, holder: newId(clock.now(), random), log: app.log })
  app.decorate('obeyEndpointChanges', async () => {
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const cancel = systemTimers(MAX_WAIT_MILLISECONDS, resolve)
    await Promise.race([push.look(), late])
    cancel()
  })
  let isClosing = false
  let stopping: Promise<void> | undefined

  app.readiness.onceOpen(() => {
    if (!isClosing) push.start()
  })
  // Attempts end while requests do.
  app.addHook('preClose', async () => {
    isClosing = true
    stopping = push.stop()
  })
  app.addHook('onClose', async () => stopping)
}

/** Pushes deliveries to the endpoints that the store has, together with the other processes on the same store. */
export const webhookPlugin = fastifyPlugin(plugin, { name: 'webhook' })
