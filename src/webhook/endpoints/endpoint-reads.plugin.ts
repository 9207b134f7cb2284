import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config, Variables } from '#src/config/load-config.ts'
import { failures, success, successSchema } from '#src/http/envelope.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Random } from '#src/lib/random.ts'
import type { Store } from '#src/store/store.ts'
import { attemptsAnswer, endpointAnswer, shownAnswer } from './answers.ts'
import type { Endpoints } from './endpoints.rule.ts'
import { AttemptsSchema, EndpointParamsSchema, EndpointsSchema, ShownEndpointSchema } from './endpoints.schema.ts'
import { openEndpoints } from './open-endpoints.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** What operators see of endpoints, and change. */
    endpoints: Endpoints
  }
}

export interface EndpointReadsOptions {
  readonly config: Config
  readonly proxyVariables: Variables | undefined
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
}

const hasAllRights = ({ access }: FastifyRequest): boolean => access.scope === 'operator'

const TAGS = { tags: ['Webhook'] }

const plugin: FastifyPluginAsyncTypebox<EndpointReadsOptions> = async (app, options) => {
  const { endpoints, close } = openEndpoints(options)
  app.decorate('endpoints', endpoints)
  app.addHook('onClose', close)

  const routes: FastifyPluginAsyncTypebox = async (scope) => {
    const list = {
      summary: 'List endpoints',
      operationId: 'webhookEndpoints',
      description: 'Where deliveries are sent, and how far each endpoint has come.',
      ...TAGS,
      errors: [],
      response: { 200: successSchema(EndpointsSchema, 'The endpoints'), ...failures(401, 403, 500, 503) },
    }
    scope.get('/Webhook/endpoints', { schema: list }, async (request) => {
      const isFull = hasAllRights(request)
      return success({ Endpoints: (await endpoints.list()).map((endpoint) => endpointAnswer(endpoint, isFull)) })
    })

    const one = {
      summary: 'One endpoint, and what fails',
      operationId: 'webhookEndpoint',
      description: 'Also the deliveries that failed, and those that are set aside.',
      ...TAGS,
      errors: ['WEBHOOK_NOT_FOUND'],
      params: EndpointParamsSchema,
      response: { 200: successSchema(ShownEndpointSchema, 'The endpoint'), ...failures(401, 403, 404, 500, 503) },
    }
    scope.get('/Webhook/endpoint/:endpointId', { schema: one }, async (request) =>
      success(shownAnswer(await endpoints.show(request.params.endpointId), hasAllRights(request))),
    )

    const attempts = {
      summary: 'The attempts of the last day',
      operationId: 'webhookAttempts',
      description: 'Failures with what was answered, and how many attempts each minute had.',
      ...TAGS,
      errors: ['WEBHOOK_NOT_FOUND'],
      params: EndpointParamsSchema,
      response: { 200: successSchema(AttemptsSchema, 'The attempts'), ...failures(401, 403, 404, 500, 503) },
    }
    scope.get('/Webhook/endpoint/:endpointId/attempts', { schema: attempts }, async (request) =>
      success(attemptsAnswer(await endpoints.attempts(request.params.endpointId), hasAllRights(request))),
    )
  }

  app.register(app.operators(routes))
}

export const endpointReadsPlugin = fastifyPlugin(plugin, { name: 'endpoint-reads', dependencies: ['token'] })
