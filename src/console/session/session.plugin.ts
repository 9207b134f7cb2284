import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { readingBody, readUnauthenticatedBodies } from '#src/http/body/reader.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { AppError } from '#src/lib/app-error.ts'
import { every } from '#src/lib/time/every.ts'
import { loginErrors } from '#src/login/login.errors.ts'
import type { ConsoleSession } from '#src/store/store.ts'
import { operatorErrors } from '#src/token/operator.errors.ts'
import { type CookieName, cookiesNamed, expireCookies, setCookie } from './cookie.ts'
import { cookieFor, isOwnPage } from './own-page.ts'
import { sessionErrors } from './session.errors.ts'
import { createSessions, LONGEST_MILLISECONDS } from './session.rule.ts'
import {
  MAX_BODY_BYTES,
  NoBodySchema,
  noSession,
  SessionAnswerSchema,
  SignInBodySchema,
  sessionAnswer,
  TokenBodySchema,
} from './session.schema.ts'

const SWEEP_MILLISECONDS = 600_000
/** So many cookies with the name of ours are looked at. */
const MOST_LOOKED_AT = 10

/** The only routes that a cookie opens. Everything else needs the token that they give to the page. */
const plugin: PluginWith<'config' | 'store' | 'clock' | 'random'> = async (app, options) => {
  const { config, store, clock, random } = options
  const sessions = createSessions({ sessions: store.consoleSessions, clock, random })
  const sweep = every({
    firstMilliseconds: SWEEP_MILLISECONDS,
    work: async () => {
      await store.consoleSessions.deleteExpired(clock.now())
      return SWEEP_MILLISECONDS
    },
    onFailed(error) {
      app.log.warn({ err: error }, 'sessions of the console that have expired could not be deleted')
      return SWEEP_MILLISECONDS
    },
  })
  app.readiness.onceOpen(sweep.start)
  app.addHook('onClose', sweep.stop)
  // Without the console, too, rows with addresses do not stay.
  if (config.console === 'off') return

  readUnauthenticatedBodies(app, Math.min(MAX_BODY_BYTES, config.bodyLimitBytes))

  const answerOf = async (session: ConsoleSession, request: FastifyRequest) => {
    request.customerId = session.customerId
    const customer = await app.currentCustomers.findById(session.customerId)
    if (customer === undefined) throw new AppError(sessionErrors.ended)
    const issued = await app.accessTokens.issue(customer, session.region, sessions.tokenOf(session))
    const access = await app.accessTokens.verify(issued.token, request.address)
    return success(sessionAnswer(session, { ...issued, access }, clock.now()))
  }

  const schema = { hide: true, response: { 200: successSchema(SessionAnswerSchema, 'The session, if there is one') } }
  const errors = Object.values(sessionErrors)

  app.post('/console/session', {
    schema: {
      ...schema,
      body: SignInBodySchema,
      errors: [...errors, ...Object.values(loginErrors), operatorErrors.required],
    },
    config: { refusedAs: 'login.refused' },
    ...readingBody(SignInBodySchema),
    onRequest: refuseOtherPages,
    handler: async (request, reply) => {
      const { Email: email, Password: password, Region: region } = request.body
      const { cookie, references } = cookieOf(request)
      const loggedIn = await app.logIn(request, { email, password, region, operatorsOnly: true })
      const { address, headers } = request
      const { reference, session } = await sessions.begin({
        ...loggedIn,
        address,
        agent: headers['user-agent'] ?? '',
        formers: references,
      })
      reply.header('set-cookie', setCookie(cookie, reference, LONGEST_MILLISECONDS / 1000))
      return answerOf(session, request)
    },
  })

  app.post('/console/session/token', {
    schema: { ...schema, body: TokenBodySchema, errors },
    ...readingBody(TokenBodySchema),
    onRequest: async (request) => {
      // Without a session there is nothing to protect, and the page hears why there is none.
      if (cookieFor(wayOf(request)) !== undefined) await refuseOtherPages(request)
    },
    handler: async (request, reply) => {
      if (cookieFor(wayOf(request)) === undefined) return success(noSession(false))
      const { cookie, references } = cookieOf(request)
      const [reference = '', ...others] = references
      // One of two may come from somebody else, so neither counts.
      const session = others.length > 0 ? undefined : await sessions.find(reference, request.body.Active)
      if (session !== undefined) return answerOf(session, request)
      // A single one that has ended stays: by now another tab may have the cookie of a new session.
      if (others.length === 0) return success(noSession(true))
      reply.header('set-cookie', expireCookies(cookie))
      throw new AppError(sessionErrors.ended)
    },
  })

  app.post('/console/session/end', {
    schema: { ...schema, body: NoBodySchema, errors },
    ...readingBody(NoBodySchema),
    onRequest: refuseOtherPages,
    handler: async (request, reply) => {
      const { cookie, references } = cookieOf(request)
      for (const reference of references) await sessions.end(reference)
      reply.headers({ 'set-cookie': expireCookies(cookie), 'clear-site-data': '"cache"' })
      return success(noSession(true))
    },
  })
}

const wayOf = ({ protocol, host, socket }: FastifyRequest) => ({ protocol, host, peer: socket.remoteAddress })

/** Before the body is read. */
async function refuseOtherPages(request: FastifyRequest): Promise<void> {
  const way = wayOf(request)
  if (cookieFor(way) === undefined) throw new AppError(sessionErrors.needsTls)
  if (!isOwnPage(request.headers, way)) throw new AppError(sessionErrors.otherPage)
}

function cookieOf(request: FastifyRequest) {
  const cookie = cookieFor(wayOf(request)) as CookieName
  // Browsers send those of longer paths first, which are not ours.
  return { cookie, references: cookiesNamed(request.headers.cookie, cookie).slice(-MOST_LOOKED_AT) }
}

export const sessionPlugin = fastifyPlugin(plugin, {
  name: 'console-session',
  dependencies: ['token', 'login', 'audit'],
  encapsulate: true,
})
