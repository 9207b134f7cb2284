import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { requireJsonType } from '#src/http/body-reading.ts'
import { contractBodyReader } from '#src/http/contract-fields.ts'
import { failures, success, successSchema } from '#src/http/envelope.ts'
import { AppError } from '#src/lib/app-error.ts'
import { isoSeconds } from '#src/lib/clock.ts'
import type { CustomerStore } from '#src/store/store.ts'
import { loginErrors } from './login.errors.ts'
import { createLogIn } from './login.rule.ts'
import { type LoginBody, LoginHeadersSchema, loginAnswerSchema, loginBodySchema } from './login.schema.ts'
import { passwords } from './password-hashing.ts'

export interface LoginOptions {
  readonly config: Config
  readonly customers: CustomerStore
}

const plugin: FastifyPluginAsyncTypebox<LoginOptions> = async (app, { config, customers }) => {
  const logIn = createLogIn({
    customers,
    passwords,
    accessTokens: app.accessTokens,
    onRehashFailed: (error) => app.log.warn({ err: error }, 'a password hash could not be renewed'),
  })
  const emailField = config.loginEmailField
  const readBody = contractBodyReader([emailField, 'Password', 'callbackData'], config.fieldCase)

  const schema = {
    summary: 'Generate token',
    operationId: 'login',
    tags: ['Login'],
    description: 'Anonymous: no Authorization header may be sent. When the token expires, call this endpoint again.',
    consumes: ['application/json'],
    security: [],
    errors: [loginErrors],
    headers: LoginHeadersSchema,
    body: loginBodySchema(emailField),
    response: {
      200: successSchema(loginAnswerSchema(config.loginAnswer), 'A token'),
      ...failures(400, 413, 415, 500, 503),
    },
  }

  app.post('/Login/Customer/Api/Verify', {
    schema,
    onRequest: [
      async (request) => {
        const sent = request.headers.authorization !== undefined
        if (sent && config.loginAuthorization === 'reject') throw new AppError(loginErrors.authorizationSent)
      },
      requireJsonType,
    ],
    preValidation: async (request) => {
      request.body = readBody(request.body) as LoginBody
    },
    handler: async (request) => {
      const { [emailField]: email, Password: password, callbackData } = request.body
      const region = request.headers['h-region-code']
      const { token, expiresAt, customerId } = await logIn({ email: email ?? '', password, region })
      request.customerId = customerId
      const Expiration = isoSeconds(expiresAt)
      const echo = typeof callbackData === 'string' ? { callbackData } : {}
      return success({ Token: token, Expiration, token, expiration: Expiration, ...echo })
    },
  })
}

export const loginPlugin = fastifyPlugin(plugin, { name: 'login', dependencies: ['token'], encapsulate: true })
