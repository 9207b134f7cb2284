import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { addVary } from './vary.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether pages of the origins in `TESLIM_CORS_ORIGINS` may read the answers of the route. */
    crossOrigin?: boolean
  }
}

/** Lets browsers show answers to pages of other origins (CORS, as in the Fetch standard), without cookies or the like. */
export interface CrossOrigin {
  /** Answers the question of a browser whether a page may send a request. */
  allowRequest(request: FastifyRequest, reply: FastifyReply): void
}

/** Reads alone: neither the login nor deliveries, whose credentials do not belong into a page. */
const READS = /^\/(?:(?:Purchase|Supplier|Customer)\/.*|openapi\.(?:yaml|json)|\.well-known\/jwks\.json)$/
const METHODS = ['GET', 'HEAD']

const REQUEST_HEADERS = 'authorization, apikey, last-event-id, if-none-match'
const ANSWER_HEADERS = 'x-request-id, etag, retry-after'
const REMEMBER_SECONDS = 600

/** Marks the routes. Without origins in the settings no answer has a header of CORS, and no request costs anything. */
export function installCrossOrigin(app: FastifyInstance, { corsOrigins }: Config): CrossOrigin {
  if (corsOrigins.length === 0) return { allowRequest: () => undefined }
  const allowsAll = corsOrigins.includes('*')
  const allowed = new Set(corsOrigins)

  /** Returns whether the page may read the answer. */
  const allowAnswer = ({ headers: { origin } }: FastifyRequest, reply: FastifyReply): boolean => {
    if (!allowsAll) addVary(reply, 'Origin')
    if (origin === undefined || !(allowsAll || allowed.has(origin))) return false
    reply.header('access-control-allow-origin', allowsAll ? '*' : origin)
    return true
  }

  app.addHook('onRoute', (route) => {
    if (![route.method].flat().every((method) => METHODS.includes(method)) || !READS.test(route.url)) return
    route.config = { ...route.config, crossOrigin: true }
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.config.crossOrigin && allowAnswer(request, reply))
      reply.header('access-control-expose-headers', ANSWER_HEADERS)
    done()
  })

  return {
    allowRequest(request, reply) {
      const { 'access-control-request-method': method } = request.headers
      if (!allowAnswer(request, reply) || method === undefined) return
      reply.headers({
        'access-control-allow-methods': METHODS.join(', '),
        'access-control-allow-headers': REQUEST_HEADERS,
        'access-control-max-age': String(REMEMBER_SECONDS),
      })
    },
  }
}
