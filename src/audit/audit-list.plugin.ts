import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { exportable } from '#src/http/answers/exports.ts'
import { successSchema } from '#src/http/envelope.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { withPeriod } from '#src/http/validation.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import { naming } from '#src/lib/display-name.ts'
import type { AuditEvent } from '#src/store/store.ts'
import { shownDetails } from './actions.ts'
import { createAuditList } from './audit-list.rule.ts'
import { AuditEventsSchema, AuditQuerySchema, DEFAULT_LIMIT } from './audit-list.schema.ts'

const plugin: PluginWith<'store'> = async (app, { store }) => {
  const list = createAuditList(store)
  const named = naming(store.customers.names)

  const routes: FastifyPluginAsyncTypebox = async (scope) => {
    const schema = exportable({
      summary: 'The audit log',
      operationId: 'operatorAudit',
      description: 'What operators did and what was refused, newest first. Unknown parameters are refused.',
      tags: ['Operator'],
      errors: [customerErrors.notFound],
      querystring: AuditQuerySchema,
      response: { 200: successSchema(AuditEventsSchema, 'The events') },
    })
    scope.get('/Operator/audit', {
      schema,
      handler: async (request, reply) => {
        const { customer, limit = DEFAULT_LIMIT, ...rest } = withPeriod(request.query)
        const customerId = customer === undefined ? undefined : await app.customerIdOf(customer)
        return app.answerList(request, reply, async (place) => {
          const { events, nextCursor } = await list({ ...rest, customerId, limit, ...place })
          return { Events: await named(events.map(eventAnswer)), NextCursor: nextCursor }
        })
      },
    })
  }

  app.register(app.needs('operate', 'read')(routes))
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
  Details: shownDetails(more.details),
})

export const auditListPlugin = fastifyPlugin(plugin, {
  name: 'audit-list',
  dependencies: ['token', 'customer-ids', 'exports'],
  encapsulate: true,
})
