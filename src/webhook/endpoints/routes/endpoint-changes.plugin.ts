import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { readingBody } from '#src/http/body/json-body.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import type { Clock } from '#src/lib/clock.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import type { Store } from '#src/store/store.ts'
import { webhookErrors } from '../../webhook.errors.ts'
import { createActing } from '../acting.ts'
import { withSecretAnswer } from '../answers.ts'
import type { Endpoints } from '../endpoints.rule.ts'
import { readPlace } from '../read-begin.ts'
import { EndpointParamsSchema, NewEndpointSchema, SecretRotationSchema } from './bodies.schema.ts'
import { NEW_ENDPOINT_EXAMPLES } from './body-examples.ts'
import { EndpointWithSecretSchema, RemovedEndpointSchema } from './endpoints.schema.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** What the operator who sends a request may change. Each change is written to the audit log. */
    endpointsBy(request: FastifyRequest): Endpoints
  }
}

export interface EndpointChangesOptions {
  readonly store: Store
  readonly clock: Clock
}

const HOUR = 3_600_000
const TAGS = { tags: ['Webhook'] }
/** A Content-Type that cannot be read is refused even without a body. */
const BODY = { consumes: ['application/json'] }

const plugin: FastifyPluginAsyncTypebox<EndpointChangesOptions> = async (app, { store, clock }) => {
  const endpointsOf = createActing({
    endpoints: app.endpoints,
    audit: store.audit,
    clock,
    onUnrecorded: (action, requestId, error) =>
      app.log.warn({ requestId, action, err: error }, 'an action is done, but could not be written to the audit log'),
  })
  const by = ({ access, address, id }: FastifyRequest) =>
    endpointsOf({ operator: access.customer, address, requestId: id })

  app.decorate('endpointsBy', by)

  const routes: FastifyPluginAsyncTypebox = async (scope) => {
    scope.addHook('onSend', async (_request, reply) => {
      if (reply.statusCode === 200) await app.obeyEndpointChanges()
    })

    const add = {
      summary: 'Add an endpoint',
      operationId: 'webhookAdd',
      description: 'The answer has the secret that verifies signatures, which cannot be shown again.',
      ...TAGS,
      ...BODY,
      errors: [
        webhookErrors.urlInvalid,
        webhookErrors.addressForbidden,
        webhookErrors.authorityInvalid,
        purchaseErrors.cursorInvalid,
        customerErrors.notFound,
        customerErrors.removed,
        webhookErrors.tooMany,
        purchaseErrors.cursorPurged,
        purchaseErrors.deliveriesLost,
        webhookErrors.secretCannotOpen,
      ],
      body: NewEndpointSchema,
      bodyExamples: NEW_ENDPOINT_EXAMPLES,
      response: {
        200: successSchema(EndpointWithSecretSchema, 'The endpoint, and its secret'),
      },
    }
    scope.post('/Webhook/endpoints', {
      schema: add,
      ...readingBody(NewEndpointSchema),
      handler: async (request) => {
        const { URL: url, Customer, Statuses, Duplicates, From = 'now', GiveUpSeconds, CA } = request.body
        const begin = readPlace('/From', From, ['now', 'start'], clock.now())
        const wanted = {
          url,
          customer: Customer ?? undefined,
          statuses: Statuses ?? undefined,
          duplicates: Duplicates,
          begin,
          giveUpMilliseconds: GiveUpSeconds ? GiveUpSeconds * 1000 : undefined,
          ca: CA ?? undefined,
        }
        return success(withSecretAnswer(await by(request).add(wanted)))
      },
    })

    const rotate = {
      summary: 'Replace the secret of an endpoint',
      operationId: 'webhookRotateSecret',
      description:
        'Both secrets sign until the overlap is over; a secret that was replaced before stops. The answer has the new secret, which cannot be shown again.',
      ...TAGS,
      ...BODY,
      errors: [webhookErrors.notFound, webhookErrors.changedMeanwhile, webhookErrors.secretCannotOpen],
      params: EndpointParamsSchema,
      body: SecretRotationSchema,
      bodyExamples: { day: { summary: 'Both secrets sign for a day', value: { OverlapHours: 24 } } },
      response: {
        200: successSchema(EndpointWithSecretSchema, 'The endpoint, and its new secret'),
      },
    }
    scope.post('/Webhook/endpoint/:endpointId/rotateSecret', {
      schema: rotate,
      ...readingBody(SecretRotationSchema),
      handler: async (request) => {
        const overlap = Math.round(request.body.OverlapHours * HOUR)
        return success(withSecretAnswer(await by(request).rotateSecret(request.params.endpointId, overlap)))
      },
    })

    const remove = {
      summary: 'Remove an endpoint',
      operationId: 'webhookRemove',
      description: 'Nothing is sent to it from then on, and what waits is forgotten. Takes no body.',
      ...TAGS,
      ...BODY,
      errors: [webhookErrors.notFound],
      params: EndpointParamsSchema,
      response: {
        200: successSchema(RemovedEndpointSchema, 'The endpoint that was removed'),
      },
    }
    scope.post('/Webhook/endpoint/:endpointId/remove', { schema: remove }, async (request) => {
      const { id } = await by(request).remove(request.params.endpointId)
      return success({ EndpointID: id })
    })
  }

  app.register(app.fullOperators(routes))
}

export const endpointChangesPlugin = fastifyPlugin(plugin, {
  name: 'endpoint-changes',
  dependencies: ['token', 'endpoint-reads', 'webhook'],
})
