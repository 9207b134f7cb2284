import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import { failures, success, successSchema } from '#src/http/envelope.ts'
import { invalidRequest } from '#src/http/error-handler.ts'
import { queryReading } from '#src/http/query-reading.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import { readTime } from '#src/lib/time/read-time.ts'
import type { AuditEvent, Store } from '#src/store/store.ts'
import { createAuditList } from './audit-list.rule.ts'
import { AuditEventsSchema, AuditQuerySchema, DEFAULT_LIMIT } from './audit-list.schema.ts'

const plugin: FastifyPluginAsyncTypebox<{ readonly store: Store }> = async (app, { store }) => {
  const list = createAuditList(store)

  const routes: FastifyPluginAsyncTypebox = async (scope) => {
    const schema = {
      summary: 'The audit log',
      operationId: 'operatorAudit',
      description: 'What operators did and what was refused, newest first. Unknown parameters are refused.',
      tags: ['Operator'],
      errors: ['CUSTOMER_NOT_FOUND'],
      querystring: AuditQuerySchema,
      response: { 200: successSchema(AuditEventsSchema, 'The events'), ...failures(400, 401, 403, 404, 500, 503) },
    }
    scope.get('/Operator/audit', {
      schema,
      preValidation: queryReading(AuditQuerySchema),
      handler: async ({ query }) => {
        const { customer, from, to, limit = DEFAULT_LIMIT, ...rest } = query
        const period = { from: timeOf('from', from), to: timeOf('to', to) }
        const customerId = customer === undefined ? undefined : await app.customerIdOf(customer)
        const { events, nextCursor } = await list({ ...rest, ...period, customerId, limit })
        return success({ Events: events.map(eventAnswer), NextCursor: nextCursor })
      },
    })
  }

  app.register(app.operators(routes))
}

function timeOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = readTime(text)
  if (time !== undefined) return time
  throw invalidRequest([
    { path: `query/${name}`, message: 'must be a time with its zone, such as 2026-11-21T09:00:00Z, or a day' },
  ])
}

const eventAnswer = ({ at, actor, action, customerId, address, requestId, ...more }: AuditEvent) => ({
  At: isoMilliseconds(at),
  Actor: actor,
  Action: action,
  CustomerID: customerId,
  Address: address,
  RequestID: requestId,
  RefusalID: more.refusalId,
  OrderID: more.orderId,
  KeyID: more.keyId ?? (typeof more.details.keyId === 'string' ? more.details.keyId : null),
  Details: more.details,
})

export const auditListPlugin = fastifyPlugin(plugin, {
  name: 'audit-list',
  dependencies: ['token', 'customer-ids'],
  encapsulate: true,
})
