import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { actionRoute } from '#src/http/body/action-route.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { at } from '#src/lib/app-error.ts'
import { HOUR_MILLISECONDS } from '#src/lib/duration.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import { webhookErrors } from '../../webhook.errors.ts'
import { attemptAnswer, endpointAnswer, withSecretAnswer } from '../answers.ts'
import { auditedEndpoints } from '../audited.ts'
import { readPlace } from '../read-begin.ts'
import type { Replayed } from '../replays.ts'
import {
  EndpointChangeSchema,
  EndpointParamsSchema,
  NewEndpointSchema,
  ReplaySchema,
  SecretRotationSchema,
} from './bodies.schema.ts'
import { CHANGE_EXAMPLES, NEW_ENDPOINT_EXAMPLES, REPLAY_EXAMPLES } from './body-examples.ts'
import {
  ChangedEndpointSchema,
  EndpointWithSecretSchema,
  RemovedEndpointSchema,
  ReplayedSchema,
  TestedSchema,
} from './endpoints.schema.ts'

const plugin: PluginWith<'clock'> = async (app, { clock }) => {
  const by = (request: FastifyRequest) => auditedEndpoints(app.endpoints, app.recordFor(request))

  const routes: FastifyPluginAsyncTypebox = async (scope) => {
    scope.addHook('onSend', async (_request, reply) => {
      if (reply.statusCode === 200) await app.obeyEndpointChanges()
    })

    scope.post('/Webhook/endpoints', {
      ...actionRoute('Webhook', 'add', {
        summary: 'Add an endpoint',
        description: 'The answer has the secret that verifies signatures, which cannot be shown again.',
        errors: [
          ...at('/URL', webhookErrors.urlInvalid, webhookErrors.addressForbidden),
          ...at('/CA', webhookErrors.authorityInvalid),
          ...at('/From', purchaseErrors.cursorInvalid, purchaseErrors.cursorPurged, purchaseErrors.deliveriesLost),
          ...at('/Customer', customerErrors.notFound, customerErrors.removed),
          webhookErrors.tooMany,
          webhookErrors.secretCannotOpen,
        ],
        body: NewEndpointSchema,
        bodyExamples: NEW_ENDPOINT_EXAMPLES,
        answer: successSchema(EndpointWithSecretSchema, 'The endpoint, and its secret'),
      }),
      handler: async (request) => {
        request.needRecentPassword()
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

    scope.post('/Webhook/endpoint/:endpointId/set', {
      ...actionRoute('Webhook', 'set', {
        summary: 'Change an endpoint',
        description:
          'What the body does not name stays, as do its secret and its place. What failed, and what waits behind it in its order (`Waiting`), is still sent, to the new URL, also that of a former customer: for another receiver add another endpoint. The rest of `Pending` goes by the new filter. A URL with another scheme, host or port is refused unless `Headers` names each header that the endpoint has, as the new host would get their values. A body that names nothing is refused.',
        errors: [
          ...at('/URL', webhookErrors.urlInvalid, webhookErrors.addressForbidden),
          ...at('/CA', webhookErrors.authorityInvalid),
          ...at('/Headers', webhookErrors.headerInvalid),
          webhookErrors.notFound,
          ...at('/Customer', customerErrors.notFound, customerErrors.removed),
          webhookErrors.changedMeanwhile,
          webhookErrors.secretCannotOpen,
        ],
        params: EndpointParamsSchema,
        body: EndpointChangeSchema,
        bodyExamples: CHANGE_EXAMPLES,
        answer: successSchema(ChangedEndpointSchema, 'The endpoint after the change'),
      }),
      handler: async (request) => {
        const { GiveUpSeconds, ...sent } = request.body
        const { URL: url, Customer, Statuses, Duplicates, CA, Headers } = sent
        if (Object.keys(request.body).length === 0)
          throw invalidRequest([{ path: '', message: 'must have at least one setting' }])
        // Whether a filter gets wider would depend on what others change meanwhile.
        if (Object.keys(sent).length > 0) request.needRecentPassword()
        const wanted = {
          url,
          customer: Customer,
          statuses: Statuses,
          duplicates: Duplicates,
          giveUpMilliseconds: GiveUpSeconds && GiveUpSeconds * 1000,
          ca: CA,
          headers: Headers && Object.entries(Headers),
        }
        return success({ Endpoint: endpointAnswer(await by(request).set(request.params.endpointId, wanted)) })
      },
    })

    scope.post('/Webhook/endpoint/:endpointId/rotateSecret', {
      ...actionRoute('Webhook', 'rotateSecret', {
        summary: 'Replace the secret of an endpoint',
        description:
          'Both secrets sign until the overlap is over; a secret that was replaced before stops. The answer has the new secret, which cannot be shown again.',
        errors: [webhookErrors.notFound, webhookErrors.changedMeanwhile, webhookErrors.secretCannotOpen],
        params: EndpointParamsSchema,
        body: SecretRotationSchema,
        bodyExamples: { day: { summary: 'Both secrets sign for a day', value: { OverlapHours: 24 } } },
        answer: successSchema(EndpointWithSecretSchema, 'The endpoint, and its new secret'),
      }),
      handler: async (request) => {
        request.needRecentPassword()
        const overlap = Math.round(request.body.OverlapHours * HOUR_MILLISECONDS)
        return success(withSecretAnswer(await by(request).rotateSecret(request.params.endpointId, overlap)))
      },
    })

    scope.post('/Webhook/endpoint/:endpointId/remove', {
      ...actionRoute('Webhook', 'remove', {
        summary: 'Remove an endpoint',
        description: 'Nothing is sent to it from then on, and what waits is forgotten.',
        errors: [webhookErrors.notFound],
        params: EndpointParamsSchema,
        answer: successSchema(RemovedEndpointSchema, 'The endpoint that was removed'),
      }),
      handler: async (request) => {
        request.needRecentPassword()
        const { id } = await by(request).remove(request.params.endpointId)
        return success({ EndpointID: id })
      },
    })

    const bare = (name: 'pause' | 'resume', summary: string, description: string) =>
      void scope.post(`/Webhook/endpoint/:endpointId/${name}`, {
        ...actionRoute('Webhook', name, {
          summary,
          description,
          errors: [webhookErrors.notFound],
          params: EndpointParamsSchema,
          answer: successSchema(ChangedEndpointSchema, 'The endpoint after the change'),
        }),
        handler: async (request) =>
          success({ Endpoint: endpointAnswer(await by(request)[name](request.params.endpointId)) }),
      })
    bare('pause', 'Pause an endpoint', 'Nothing is sent to it until it is resumed, and nothing is lost.')
    bare('resume', 'Resume an endpoint', 'It goes on where it stopped, for whatever reason it was paused.')

    scope.post('/Webhook/endpoint/:endpointId/replay', {
      ...actionRoute('Webhook', 'replay', {
        summary: 'Send deliveries again',
        description:
          'Sends again, whether confirmed or not: a stretch of the feed, the deliveries of one order, one delivery, or everything that is set aside. A stretch takes its time, and only one is sent again at a time: Replay of the endpoint says how far it is.',
        errors: [
          webhookErrors.notFound,
          ...at('/From', purchaseErrors.cursorInvalid, purchaseErrors.cursorPurged, purchaseErrors.deliveriesLost),
          ...at('/ReceiptID', purchaseErrors.deliveryNotFound, webhookErrors.leftOut, webhookErrors.pending),
          ...at('/OrderID', purchaseErrors.orderNotFound),
          ...at('/Customer', customerErrors.notFound, purchaseErrors.orderAmbiguous),
          webhookErrors.replayRunning,
        ],
        params: EndpointParamsSchema,
        body: ReplaySchema,
        bodyExamples: REPLAY_EXAMPLES,
        answer: successSchema(ReplayedSchema, 'The endpoint, and how much is sent again'),
      }),
      handler: async (request) => {
        const endpoints = by(request)
        const { endpointId } = request.params
        const what = readReplay(request.body, clock.now())
        // A stretch from a time or a cursor may be as long as one from the start.
        if (request.body.From !== undefined && request.body.OrderID === undefined) request.needRecentPassword()
        const { endpoint, deliveries } = await (what === 'cancel'
          ? endpoints.cancelReplay(endpointId)
          : endpoints.replay(endpointId, what))
        return success({ Endpoint: endpointAnswer(endpoint), Deliveries: deliveries })
      },
    })

    scope.post('/Webhook/endpoint/:endpointId/test', {
      ...actionRoute('Webhook', 'test', {
        summary: 'Send a test to an endpoint',
        description:
          'Sends one message of the type `teslim.test` now, also to an endpoint that is paused, and answers with what came of it.',
        errors: [webhookErrors.notFound, webhookErrors.secretCannotOpen],
        params: EndpointParamsSchema,
        answer: successSchema(TestedSchema, 'The attempt, whether it succeeded or failed'),
      }),
      handler: async (request) => {
        const { attempt } = await by(request).test(request.params.endpointId)
        return success({ Attempt: attemptAnswer(attempt) })
      },
    })
  }

  app.register(app.needs('operate', 'change')(routes))
}

/** What may be sent again, of which a request has exactly one. */
const KINDS = ['From', 'OrderID', 'ReceiptID', 'SetAside', 'Cancel'] as const

function readReplay(body: Static<typeof ReplaySchema>, now: number): Replayed | 'cancel' {
  const { From, To, Statuses, OrderID, Customer, ReceiptID, SetAside, Cancel } = body
  const named = KINDS.filter((kind) => body[kind] !== undefined)
  if (named.length !== 1 && named.join() !== 'From,OrderID')
    throw invalidRequest([
      { path: '', message: `must have exactly one of ${KINDS.slice(0, -1).join(', ')} and Cancel` },
    ])
  const belongs = (kind: string, value: unknown, allowed: boolean): void => {
    if (value !== undefined && !allowed) throw invalidRequest([{ path: `/${kind}`, message: 'does not belong here' }])
  }
  belongs('Customer', Customer, OrderID !== undefined)
  belongs('To', To, From !== undefined || OrderID !== undefined)
  belongs('Statuses', Statuses, From !== undefined || OrderID !== undefined)
  if (Cancel) return 'cancel'
  if (SetAside) return 'set-aside'
  if (ReceiptID !== undefined) return { receiptId: ReceiptID }
  const begin = From === undefined ? undefined : readPlace('/From', From, ['start'], now)
  const end = To === undefined ? undefined : readPlace('/To', To, [], now)
  const stretch = { end: typeof end === 'string' ? undefined : end, statuses: Statuses }
  if (OrderID !== undefined) return { ...stretch, begin, orderId: OrderID, customer: Customer }
  return { ...stretch, begin: begin ?? 'start' }
}

export const endpointChangesPlugin = fastifyPlugin(plugin, {
  name: 'endpoint-changes',
  dependencies: ['token', 'audit', 'endpoint-reads', 'webhook'],
})
