import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyBaseLogger } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Clock } from '#src/lib/clock.ts'
import { named } from '#src/lib/json/named-schema.ts'
import { VERSION } from '#src/lib/version.ts'
import type { Store } from '#src/store/store.ts'
import { failures, success, successSchema } from './envelope.ts'

const HealthSchema = named('Health', { Status: Type.Literal('ok'), Version: Type.String({ examples: [VERSION] }) })
const healthy = success({ Status: 'ok' as const, Version: VERSION })

/** A server that is busy or has no store is not dead. */
const HEALTH_CHECK = { answeredAlways: true }

export interface HealthOptions {
  readonly store: Store
  readonly clock: Clock
}

const plugin: FastifyPluginAsyncTypebox<HealthOptions> = async (app, { store, clock }) => {
  const outages = createOutageLog(store, app.log, clock)
  app.onRefusal((_request, { code, details }) => outages.note(code, details.reason))
  app.addHook('onClose', async () => outages.close())

  const live = {
    summary: 'Is the process alive?',
    operationId: 'live',
    description: 'Checks the process only, not the store. Use it to decide whether to restart the process.',
    tags: ['Operation'],
    response: { 200: successSchema(HealthSchema, 'The process is alive'), ...failures(500) },
  }
  app.get('/livez', { schema: live, config: HEALTH_CHECK }, async () => healthy)

  const ready = {
    summary: 'Is the service ready? Checks that the store could take a delivery now.',
    operationId: 'ready',
    description:
      'Load balancers should send requests only while this is 200. Its message says what is missing; it fails as soon as the service was told to stop.',
    tags: ['Operation'],
    errors: ['STOPPING'],
    response: { 200: successSchema(HealthSchema, 'The service is ready'), ...failures(500, 503) },
  }
  app.get('/readyz', { schema: ready, config: HEALTH_CHECK }, async () => {
    await app.readiness.check()
    return healthy
  })
}

const POLL_MILLISECONDS = 500

/** Logs one line when the store is lost and one when it is back, however many requests fail. */
function createOutageLog({ ping }: Pick<Store, 'ping'>, log: FastifyBaseLogger, clock: Clock) {
  let lostAt: number | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const poll = async (): Promise<void> => {
    const isBack = await ping().then(
      () => true,
      () => false,
    )
    if (closed) return
    if (!isBack) return pollLater()
    log.info({ seconds: Math.round((clock.monotonic() - (lostAt ?? 0)) / 100) / 10 }, 'store back')
    lostAt = undefined
  }

  const pollLater = (): void => {
    timer = setTimeout(poll, POLL_MILLISECONDS).unref()
  }

  return {
    /** Must be called for every refusal. */
    note(errorCode: string, reason: string | undefined): void {
      if (errorCode !== 'STORE_UNAVAILABLE' || lostAt !== undefined) return
      lostAt = clock.monotonic()
      log.error({ reason }, 'store lost')
      pollLater()
    },
    close(): void {
      closed = true
      clearTimeout(timer)
    },
  }
}

export const healthPlugin = fastifyPlugin(plugin, { name: 'health' })
