import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { Store } from '#src/store/store.ts'
import { failures, success, successSchema } from './envelope.ts'

const HealthSchema = Type.Object({ status: Type.Literal('ok') })

export const healthPlugin: FastifyPluginAsyncTypebox<{ store: Store }> = async (app, { store }) => {
  const live = {
    summary: 'Is the process alive?',
    operationId: 'live',
    tags: ['Operation'],
    response: { 200: successSchema(HealthSchema, 'It is'), ...failures(500) },
  }
  app.get('/livez', { schema: live }, async () => success({ status: 'ok' as const }))

  const ready = {
    summary: 'Can the service do its work? Asks the store.',
    operationId: 'ready',
    tags: ['Operation'],
    response: { 200: successSchema(HealthSchema, 'It can'), ...failures(500, 503) },
  }
  app.get('/readyz', { schema: ready }, async () => {
    await store.ping()
    return success({ status: 'ok' as const })
  })
}
