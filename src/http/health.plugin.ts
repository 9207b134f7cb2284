import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import fastifyPlugin from 'fastify-plugin'
import type { Clock } from '#src/lib/clock.ts'
import type { Store } from '#src/store/store.ts'
import { failures, success, successSchema } from './envelope.ts'
import { createOutageLog } from './log/outage-log.ts'

const HealthSchema = Type.Object({ status: Type.Literal('ok') })

/** A balancer or an orchestrator must not take a server that has many clients for a dead one. */
const ANSWERED_ALWAYS = { answeredBeyondLimit: true }

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
    description: 'Asks nothing but the process itself. Whatever restarts processes should look here.',
    tags: ['Operation'],
    response: { 200: successSchema(HealthSchema, 'It is'), ...failures(500) },
  }
  app.get('/livez', { schema: live, config: ANSWERED_ALWAYS }, async () => success({ status: 'ok' as const }))

  const ready = {
    summary: 'Can the service do its work? Asks whether the store could take a delivery now.',
    operationId: 'ready',
    description: 'A load balancer should send requests only where this is 200.',
    tags: ['Operation'],
    response: { 200: successSchema(HealthSchema, 'It can'), ...failures(500, 503) },
  }
  app.get('/readyz', { schema: ready, config: ANSWERED_ALWAYS }, async () => {
    await store.ping()
    return success({ status: 'ok' as const })
  })
}

export const healthPlugin = fastifyPlugin(plugin, { name: 'health' })
