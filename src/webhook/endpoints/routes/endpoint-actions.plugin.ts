import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { actionRoute } from '#src/http/body/action-route.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import { at } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import { webhookErrors } from '../../webhook.errors.ts'
import { attemptAnswer, endpointAnswer } from '../answers.ts'
import { auditedEndpoints } from '../audited.ts'
import { readPlace } from '../read-begin.ts'
import type { Replayed } from '../replays.ts'
import { EndpointParamsSchema, ReplaySchema } from './bodies.schema.ts'
import { REPLAY_EXAMPLES } from './body-examples.ts'
import { ChangedEndpointSchema, ReplayedSchema, TestedSchema } from './endpoints.schema.ts'

export interface EndpointActionsOptions {
  readonly clock: Clock
}

const plugin: FastifyPluginAsyncTypebox<EndpointActionsOptions> = async (app, { clock }) => {
  const by = (request: FastifyRequest) => auditedEndpoints(app.endpoints, app.recordFor(request))

  const routes: FastifyPluginAsyncTypebox = async (scope) => {
    scope.addHook('onSend', async (_request, reply) => {
      if (reply.statusCode === 200) await app.obeyEndpointChanges()
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

export const endpointActionsPlugin = fastifyPlugin(plugin, {
  name: 'endpoint-actions',
  dependencies: ['token', 'audit', 'endpoint-reads', 'webhook'],
})
