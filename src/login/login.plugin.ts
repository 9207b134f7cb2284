import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { contractBodyReader, readUnauthenticatedBodies, requireJsonType } from '#src/http/body/reader.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import { AppError } from '#src/lib/app-error.ts'
import { type Clock, isoSeconds } from '#src/lib/clock.ts'
import type { Metrics } from '#src/lib/metrics.ts'
import type { Random } from '#src/lib/random.ts'
import type { Store } from '#src/store/store.ts'
import { signingKeyErrors } from '#src/token/signing-key.errors.ts'
import { passwords } from './hashing.ts'
import { clientGone, loginErrors } from './login.errors.ts'
import { createLogIn } from './login.rule.ts'
import {
  type LoginBody,
  LoginHeadersSchema,
  loginAnswerSchema,
  loginBodySchema,
  MAX_BODY_BYTES,
  spellings,
} from './login.schema.ts'
import { createLoginMetrics } from './login-metrics.ts'
import { createPasswordMemory } from './password-memory.ts'
import { createRefusalPace } from './refusal-pace.ts'
import { createThrottle } from './throttle.ts'

export interface LoginOptions {
  readonly config: Config
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
}

const plugin: FastifyPluginAsyncTypebox<LoginOptions> = async (app, options) => {
  const { config, store, clock, random, metrics } = options
  const { hash, verify, queue } = app.hashing
  const pace = createRefusalPace(clock)
  app.addHook('preClose', async () => pace.close())
  const counted = createLoginMetrics(metrics, queue)
  app.onRefusal(({ raw, routeOptions }, error) => {
    const isBrokenOff = raw.readableAborted || error.code === clientGone.code
    if (routeOptions.config.refusedAs === 'login.refused' && !isBrokenOff) counted.refused(error)
  })
  const logIn = createLogIn({
    customers: store.customers,
    currentCustomers: app.currentCustomers,
    passwords: { ...passwords, hash, verify },
    accessTokens: app.accessTokens,
    throttle: createThrottle(store.loginFailures, clock),
    memory: createPasswordMemory({ seconds: config.loginMemorySeconds, random, clock }),
    queue,
    pace,
    onRehashFailed: (error) => app.log.warn({ err: error }, 'a password hash could not be renewed'),
  })
  const emailField = config.loginEmailField
  readUnauthenticatedBodies(app, Math.min(MAX_BODY_BYTES, config.bodyLimitBytes))
  const readBody = contractBodyReader([emailField, 'Password', 'callbackData'], config.fieldCase)

  const isRejected = config.loginAuthorization === 'reject'
  const { authorizationSent: _sent, ...otherErrors } = loginErrors
  const schema = {
    summary: 'Generate token',
    operationId: 'login',
    tags: ['Login'],
    description: `Anonymous: ${isRejected ? 'send no Authorization header' : 'an Authorization header is ignored'}. The token works for ${config.tokenTtlSeconds} seconds; after that, log in again.`,
    consumes: ['application/json'],
    security: [],
    errors: [...Object.values(isRejected ? loginErrors : otherErrors), signingKeyErrors.cannotOpen],
    headers: LoginHeadersSchema,
    body: loginBodySchema(emailField),
    response: {
      200: successSchema(loginAnswerSchema(config), 'A token'),
    },
  }

  app.post('/Login/Customer/Api/Verify', {
    schema,
    config: { refusedAs: 'login.refused' },
    onRequest: [
      async (request) => {
        const sent = request.headers.authorization !== undefined
        if (sent && isRejected) throw new AppError(loginErrors.authorizationSent)
      },
      requireJsonType,
    ],
    preValidation: async (request) => {
      request.body = readBody(request.body) as LoginBody
    },
    handler: async (request) => {
      const { [emailField]: email, Password: password, callbackData } = request.body
      const region = request.headers['h-region-code']
      const { token, expiresAt, customerId } = await logIn({
        email: email ?? '',
        password,
        region,
        address: request.address,
        isAwaited: () => !request.socket.destroyed,
      })
      request.customerId = customerId
      counted.succeeded()
      const answer = spellings(token, isoSeconds(expiresAt))[config.loginAnswer]
      return success({ ...answer, ...(typeof callbackData === 'string' && { callbackData }) })
    },
  })
}

export const loginPlugin = fastifyPlugin(plugin, {
  name: 'login',
  dependencies: ['token', 'hashing'],
  encapsulate: true,
})
