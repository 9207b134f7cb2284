import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { readingBody } from '#src/http/body/reading-body.ts'
import { failures, success, successSchema } from '#src/http/envelope.ts'
import { invalidRequest } from '#src/http/error-handler.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Store } from '#src/store/store.ts'
import { createActing } from './acting.ts'
import { attemptAnswer, endpointAnswer, withSecretAnswer } from './answers.ts'
import type { Begin } from './begin.ts'
import { NEW_ENDPOINT_EXAMPLES, REPLAY_EXAMPLES } from './body-examples.ts'
import type { Replayed } from './endpoints.rule.ts'
import {
  ChangedEndpointSchema,
  EndpointParamsSchema,
  EndpointWithSecretSchema,
  NewEndpointSchema,
  RemovedEndpointSchema,
  ReplayedSchema,
  ReplaySchema,
  SecretRotationSchema,
  TestedSchema,
} from './endpoints.schema.ts'
import { readBegin } from './read-begin.ts'

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

  const beginAt = (text: string): Begin => {
    const begin = readBegin(text)
    if (typeof begin === 'object' && 'cursor' in begin && !/^c[\w-]+$/.test(text))
      throw invalidRequest([{ path: '/From', message: 'must be now, start, a cursor, or a time with its zone' }])
    // It would leave out what comes in until then.
    if (typeof begin === 'object' && 'time' in begin && begin.time > clock.now())
      throw invalidRequest([{ path: '/From', message: 'must not be in the future' }])
    return begin
  }

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
        'WEBHOOK_URL_INVALID',
        'WEBHOOK_ADDRESS_FORBIDDEN',
        'WEBHOOK_CA_INVALID',
        'CURSOR_INVALID',
        'CUSTOMER_NOT_FOUND',
        'CUSTOMER_REMOVED',
        'WEBHOOK_TOO_MANY',
        'CURSOR_PURGED',
        'DELIVERIES_LOST',
        'WEBHOOK_SECRET_CANNOT_OPEN',
      ],
      body: NewEndpointSchema,
      bodyExamples: NEW_ENDPOINT_EXAMPLES,
      response: {
        200: successSchema(EndpointWithSecretSchema, 'The endpoint, and its secret'),
        ...failures(400, 401, 403, 404, 409, 410, 413, 415, 500, 503),
      },
    }
    scope.post('/Webhook/endpoints', {
      schema: add,
      ...readingBody(NewEndpointSchema),
      handler: async (request) => {
        const { URL: url, Customer, Statuses, Duplicates, From = 'now', GiveUpSeconds, CA } = request.body
        const wanted = {
          url,
          customer: Customer ?? undefined,
          statuses: Statuses ?? undefined,
          duplicates: Duplicates,
          begin: beginAt(From),
          giveUpMilliseconds: GiveUpSeconds ? GiveUpSeconds * 1000 : undefined,
          ca: CA ?? undefined,
        }
        return success(withSecretAnswer(await by(request).add(wanted)))
      },
    })

    const bare = (name: 'pause' | 'resume', summary: string, description: string) => {
      const schema = {
        summary,
        operationId: `webhook${name.charAt(0).toUpperCase()}${name.slice(1)}`,
        description: `${description} Takes no body.`,
        ...TAGS,
        ...BODY,
        errors: ['WEBHOOK_NOT_FOUND'],
        params: EndpointParamsSchema,
        response: {
          200: successSchema(ChangedEndpointSchema, 'The endpoint after the change'),
          ...failures(401, 403, 404, 415, 500, 503),
        },
      }
      scope.post(`/Webhook/endpoint/:endpointId/${name}`, { schema }, async (request) =>
        success({ Endpoint: endpointAnswer(await by(request)[name](request.params.endpointId)) }),
      )
    }
    bare('pause', 'Pause an endpoint', 'Nothing is sent to it until it is resumed, and nothing is lost.')
    bare('resume', 'Resume an endpoint', 'It goes on where it stopped, for whatever reason it was paused.')

    const replay = {
      summary: 'Send deliveries again',
      operationId: 'webhookReplay',
      description:
        'Everything from a place on, one delivery, or everything that is set aside, whether confirmed or not.',
      ...TAGS,
      ...BODY,
      errors: [
        'CURSOR_INVALID',
        'WEBHOOK_NOT_FOUND',
        'DELIVERY_NOT_FOUND',
        'WEBHOOK_DELIVERY_LEFT_OUT',
        'WEBHOOK_DELIVERY_PENDING',
        'CURSOR_PURGED',
        'DELIVERIES_LOST',
      ],
      params: EndpointParamsSchema,
      body: ReplaySchema,
      bodyExamples: REPLAY_EXAMPLES,
      response: {
        200: successSchema(ReplayedSchema, 'The endpoint, and how much is sent again'),
        ...failures(400, 401, 403, 404, 409, 410, 413, 415, 500, 503),
      },
    }
    scope.post('/Webhook/endpoint/:endpointId/replay', {
      schema: replay,
      ...readingBody(ReplaySchema),
      handler: async (request) => {
        const { endpoint, deliveries } = await by(request).replay(
          request.params.endpointId,
          readReplay(request.body, beginAt),
        )
        return success({ Endpoint: endpointAnswer(endpoint), Deliveries: deliveries })
      },
    })

    const rotate = {
      summary: 'Replace the secret of an endpoint',
      operationId: 'webhookRotateSecret',
      description:
        'Both secrets sign until the overlap is over; a secret that was replaced before stops. The answer has the new secret, which cannot be shown again.',
      ...TAGS,
      ...BODY,
      errors: ['WEBHOOK_NOT_FOUND', 'WEBHOOK_CHANGED', 'WEBHOOK_SECRET_CANNOT_OPEN'],
      params: EndpointParamsSchema,
      body: SecretRotationSchema,
      bodyExamples: { day: { summary: 'Both secrets sign for a day', value: { OverlapHours: 24 } } },
      response: {
        200: successSchema(EndpointWithSecretSchema, 'The endpoint, and its new secret'),
        ...failures(400, 401, 403, 404, 409, 413, 415, 500, 503),
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

    const test = {
      summary: 'Send a test to an endpoint',
      operationId: 'webhookTest',
      description:
        'Sends one message of the type `teslim.test` now, also to an endpoint that is paused, and answers with what came of it. Takes no body.',
      ...TAGS,
      ...BODY,
      errors: ['WEBHOOK_NOT_FOUND', 'WEBHOOK_SECRET_CANNOT_OPEN'],
      params: EndpointParamsSchema,
      response: {
        200: successSchema(TestedSchema, 'The attempt, whether it succeeded or failed'),
        ...failures(401, 403, 404, 415, 500, 503),
      },
    }
    scope.post('/Webhook/endpoint/:endpointId/test', { schema: test }, async (request) => {
      const { attempt } = await by(request).test(request.params.endpointId)
      return success({ Attempt: attemptAnswer(attempt) })
    })

    const remove = {
      summary: 'Remove an endpoint',
      operationId: 'webhookRemove',
      description: 'Nothing is sent to it from then on, and what waits is forgotten. Takes no body.',
      ...TAGS,
      ...BODY,
      errors: ['WEBHOOK_NOT_FOUND'],
      params: EndpointParamsSchema,
      response: {
        200: successSchema(RemovedEndpointSchema, 'The endpoint that was removed'),
        ...failures(401, 403, 404, 415, 500, 503),
      },
    }
    scope.post('/Webhook/endpoint/:endpointId/remove', { schema: remove }, async (request) => {
      const { id } = await by(request).remove(request.params.endpointId)
      return success({ EndpointID: id })
    })
  }

  app.register(app.fullOperators(routes))
}

function readReplay(
  { From, ReceiptID, SetAside }: Static<typeof ReplaySchema>,
  beginAt: (text: string) => Begin,
): Replayed {
  if ([From, ReceiptID, SetAside].filter((value) => value !== undefined).length !== 1)
    throw invalidRequest([{ path: '', message: 'must have exactly one of From, ReceiptID and SetAside' }])
  if (ReceiptID !== undefined) return { receiptId: ReceiptID }
  if (From === undefined) return 'set-aside'
  if (From === 'now') throw invalidRequest([{ path: '/From', message: 'must be start, a cursor or a time' }])
  return { begin: beginAt(From) }
}

export const endpointChangesPlugin = fastifyPlugin(plugin, {
  name: 'endpoint-changes',
  dependencies: ['token', 'endpoint-reads', 'webhook'],
})
