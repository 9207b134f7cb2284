import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import fastifyPlugin from 'fastify-plugin'
import type { Clock } from '#src/lib/clock.ts'
import { named } from '#src/lib/json/named-schema.ts'
import { VERSION } from '#src/lib/version.ts'
import type { Store } from '#src/store/store.ts'
import { success, successSchema } from '../envelope.ts'
import { httpErrors } from '../http.errors.ts'
import { createOutageLog } from '../log/outage-log.ts'

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
    isStoreless: true,
    description: 'Checks the process only, not the store. Use it to decide whether to restart the process.',
    tags: ['Operation'],
    response: { 200: successSchema(HealthSchema, 'The process is alive') },
  }
  app.get('/livez', { schema: live, config: HEALTH_CHECK }, async () => healthy)

  const ready = {
    summary: 'Is the service ready? Checks that the store could take a delivery now.',
    operationId: 'ready',
    description:
      'Load balancers should send requests only while this is 200. Its message says what is missing; it fails as soon as the service was told to stop.',
    tags: ['Operation'],
    errors: [httpErrors.stopping],
    response: { 200: successSchema(HealthSchema, 'The service is ready') },
  }
  app.get('/readyz', { schema: ready, config: HEALTH_CHECK }, async () => {
    await app.readiness.check()
    return healthy
  })
}

export const healthPlugin = fastifyPlugin(plugin, { name: 'health' })
