import fastifyPlugin from 'fastify-plugin'
import { contractBodyReader, readUnauthenticatedBodies, requireJsonType } from '#src/http/body/reader.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { AppError } from '#src/lib/app-error.ts'
import { isoSeconds } from '#src/lib/clock.ts'
import { operatorNetworks } from '#src/lib/net/networks.ts'
import { signingKeyErrors } from '#src/token/signing-key.errors.ts'
import { createHashing, type Hashing, passwords } from './hashing.ts'
import { clientGone, loginErrors } from './login.errors.ts'
import { type Credentials, createLogIn, type LoggedIn } from './login.rule.ts'
import {
  answerVariants,
  type LoginBody,
  LoginHeadersSchema,
  loginAnswerSchema,
  loginBodySchema,
  MAX_BODY_BYTES,
} from './login.schema.ts'
import { createPasswordMemory } from './password-memory.ts'
import { createRefusalDelay } from './refusal-delay.ts'
import { createThrottle } from './throttle.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly hashing: Hashing
    /** Logs in who sends a request, which a route that records `login.refused` does. */
    readonly logIn: (
      request: FastifyRequest,
      credentials: Pick<Credentials, 'email' | 'password' | 'region' | 'operatorsOnly'>,
    ) => Promise<LoggedIn>
  }
}

const OUTCOMES = ['ok', 'refused', 'throttled', 'overloaded', 'invalid', 'failed'] as const

function outcomeOf({ code, kind }: AppError): (typeof OUTCOMES)[number] {
  if (code === loginErrors.refused.code) return 'refused'
  if (kind === 'throttled' || kind === 'overloaded') return kind
  return kind === 'internal' || kind === 'unavailable' ? 'failed' : 'invalid'
}

const plugin: PluginWith<'config' | 'store' | 'clock' | 'random' | 'metrics'> = async (app, options) => {
  const { config, store, clock, random, metrics } = options
  const hashing = createHashing()
  app.decorate('hashing', hashing)
  app.addHook('onClose', hashing.close)
  const { hash, verify, queue } = hashing
  const logins = metrics.counter(
    'teslim_logins_total',
    'Logins by outcome: refused are wrong credentials, invalid are requests that were none.',
  )
  for (const outcome of OUTCOMES) logins({ outcome })
  metrics.gauge('teslim_login_hash_queue', 'Logins that wait for their password to be hashed.', queue.waiting)
  app.onRefusal(({ raw, routeOptions }, error) => {
    const isBrokenOff = raw.readableAborted || error.code === clientGone.code
    const isLogin = routeOptions.config.refusedAs === 'login.refused'
    if (isLogin && !isBrokenOff) logins({ outcome: outcomeOf(error) }).value++
  })

  const refusalDelay = createRefusalDelay(clock)
  app.addHook('preClose', async () => refusalDelay.close())
  const logIn = createLogIn({
    customers: store.customers,
    currentCustomers: app.currentCustomers,
    passwords: { ...passwords, hash, verify },
    throttle: createThrottle(store.loginFailures, clock),
    memory: createPasswordMemory(config.loginMemorySeconds, random, clock),
    queue,
    refusalDelay,
    operatorNetworks: operatorNetworks(config.operatorNetworks),
    onRehashFailed: (error) => app.log.warn({ err: error }, 'a password hash could not be renewed'),
  })
  app.decorate('logIn', async (request, credentials) => {
    const { address, socket } = request
    const loggedIn = await logIn({ ...credentials, address, isAwaited: () => !socket.destroyed })
    request.customerId = loggedIn.customer.id
    logins({ outcome: 'ok' }).value++
    return loggedIn
  })
  app.register(loginRoute, options)
}

/** In a scope of its own, because its bodies are read differently. */
const loginRoute: PluginWith<'config' | 'store' | 'clock' | 'random' | 'metrics'> = async (app, { config }) => {
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
    response: { 200: successSchema(loginAnswerSchema(config), 'A token') },
  }

  app.post('/Login/Customer/Api/Verify', {
    schema,
    config: { refusedAs: 'login.refused' },
    onRequest: [
      async ({ headers }) => {
        if (isRejected && headers.authorization !== undefined) throw new AppError(loginErrors.authorizationSent)
      },
      requireJsonType,
    ],
    preValidation: async (request) => {
      request.body = readBody(request.body) as LoginBody
    },
    handler: async (request) => {
      const { [emailField]: email, Password: password, callbackData } = request.body
      const credentials = { email: email ?? '', password, region: request.headers['h-region-code'] }
      const { customer, region } = await app.logIn(request, credentials)
      const { token, expiresAt } = await app.accessTokens.issue(customer, region)
      const answer = answerVariants(token, isoSeconds(expiresAt))[config.loginAnswer]
      return success({ ...answer, ...(typeof callbackData === 'string' && { callbackData }) })
    },
  })
}

export const loginPlugin = fastifyPlugin(plugin, { name: 'login', dependencies: ['token'] })
