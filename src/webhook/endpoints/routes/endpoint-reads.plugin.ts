import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Variables } from '#src/config/load-config.ts'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import type { Parts } from '#src/http/parts.ts'
import type { Reading } from '#src/lib/metrics.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import { webhookErrors } from '../../webhook.errors.ts'
import { attemptsAnswer, endpointAnswer, shownAnswer, toldAnswer } from '../answers.ts'
import type { Endpoints } from '../endpoints.rule.ts'
import { openEndpoints } from '../open-endpoints.ts'
import { STANDINGS } from '../standing.ts'
import { EndpointParamsSchema } from './bodies.schema.ts'
import {
  AttemptsSchema,
  EndpointsSchema,
  ShownEndpointSchema,
  ToldQuerySchema,
  ToldSchema,
} from './endpoints.schema.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** What operators see of endpoints, and change. */
    endpoints: Endpoints
  }
}

interface EndpointReadsOptions extends Pick<Parts, 'config' | 'store' | 'clock' | 'random' | 'metrics'> {
  readonly proxyVariables: Variables | undefined
}

const hasAllRights = ({ access }: FastifyRequest): boolean => access.rights.has('change')

const TAGS = { tags: ['Webhook'] }

const plugin: FastifyPluginAsyncTypebox<EndpointReadsOptions> = async (app, options) => {
  const { endpoints, close } = openEndpoints({ ...options, cursors: app.cursors })
  app.decorate('endpoints', endpoints)
  // As `teslim webhook list` shows it: 1 for the state of an endpoint, 0 for the others.
  options.metrics.gauge('teslim_webhook_state', 'Whether an endpoint is active, failing, behind or paused.', async () =>
    (await endpoints.list()).flatMap(({ webhook: { id }, standing }) =>
      STANDINGS.map((state): Reading => [{ endpoint: id, state }, state === standing ? 1 : 0]),
    ),
  )
  app.addHook('onClose', close)

  const routes: FastifyPluginAsyncTypebox = async (scope) => {
    const list = {
      summary: 'List endpoints',
      operationId: 'webhookEndpoints',
      description: 'Where deliveries are sent, and how far each endpoint has come.',
      ...TAGS,
      response: { 200: successSchema(EndpointsSchema, 'The endpoints') },
    }
    scope.get('/Webhook/endpoints', { schema: list }, async (request) => {
      const isFull = hasAllRights(request)
      return success({ Endpoints: (await endpoints.list()).map((endpoint) => endpointAnswer(endpoint, isFull)) })
    })

    const ofOne = { ...TAGS, errors: [webhookErrors.notFound], params: EndpointParamsSchema }
    const one = {
      summary: 'One endpoint, and what fails',
      operationId: 'webhookEndpoint',
      description: 'Also the deliveries that failed, and those that are set aside.',
      ...ofOne,
      response: { 200: successSchema(ShownEndpointSchema, 'The endpoint') },
    }
    scope.get('/Webhook/endpoint/:endpointId', { schema: one }, async (request) =>
      success(shownAnswer(await endpoints.show(request.params.endpointId), hasAllRights(request))),
    )

    const attempts = {
      summary: 'The attempts of the last day',
      operationId: 'webhookAttempts',
      description: 'Failures with what was answered, and how many attempts each minute had.',
      ...ofOne,
      response: { 200: successSchema(AttemptsSchema, 'The attempts') },
    }
    scope.get('/Webhook/endpoint/:endpointId/attempts', { schema: attempts }, async (request) =>
      success(attemptsAnswer(await endpoints.attempts(request.params.endpointId), hasAllRights(request))),
    )

    const told = {
      summary: 'What became of a delivery, or of an order',
      operationId: 'webhookDeliveries',
      description:
        'Whether the endpoint has each delivery, and since when. Times and answers of what was confirmed are known for 7 days, and less if an endpoint gets very many deliveries.',
      ...ofOne,
      errors: [
        ...ofOne.errors,
        purchaseErrors.deliveryNotFound,
        purchaseErrors.orderNotFound,
        customerErrors.notFound,
        purchaseErrors.orderAmbiguous,
      ],
      querystring: ToldQuerySchema,
      response: { 200: successSchema(ToldSchema, 'The deliveries') },
    }
    scope.get('/Webhook/endpoint/:endpointId/deliveries', { schema: told }, async ({ params, query }) => {
      const { orderId, receiptId, customer } = query
      if ((orderId === undefined) === (receiptId === undefined))
        throw invalidRequest([{ path: '', message: 'must have exactly one of orderId and receiptId' }])
      const which = orderId === undefined ? { receiptId: receiptId ?? '' } : { orderId, customer }
      const told = await endpoints.fates(params.endpointId, which)
      return success({ Deliveries: told.map(toldAnswer) })
    })
  }

  app.register(app.needs('operate', 'read')(routes))
}

export const endpointReadsPlugin = fastifyPlugin(plugin, {
  name: 'endpoint-reads',
  dependencies: ['token', 'purchase'],
})
