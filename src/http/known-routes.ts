import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import { operatorNetworks } from '#src/lib/net/networks.ts'
import { addVary } from './envelope.ts'
import { httpErrors } from './http.errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether pages of the origins in `TESLIM_CORS_ORIGINS` may read the answers of the route. */
    crossOrigin?: boolean
    /** Whether the route is hidden outside `TESLIM_OPERATOR_NETWORKS`. */
    forOperators?: boolean
  }
}

interface KnownRoute {
  readonly pattern: RegExp
  readonly method: string
  readonly crossOrigin: boolean
  readonly forOperators: boolean
}

/** Reads alone: neither the login nor deliveries, whose credentials do not belong into a page. */
const READS = /^\/(?:(?:Purchase|Supplier|Customer)\/.*|openapi\.(?:yaml|json)|\.well-known\/.*)$/
/** Patterns of routes, not addresses that are asked for: those have many spellings. */
const FOR_OPERATORS = /^\/(?:console|Operator|Webhook)(?:\/|$)/
const READ_METHODS = ['GET', 'HEAD']

const REQUEST_HEADERS = 'authorization, apikey, last-event-id, if-none-match'
const ANSWER_HEADERS = 'x-request-id, etag, retry-after'
const REMEMBER_SECONDS = 600

/**
 * Answers 404 for an unknown address, and for a known one 405 with `Allow` under another method, or 204 with `Allow` under OPTIONS.
 * Lets browsers show reads to pages of other origins (CORS, as in the Fetch standard), without cookies or the like.
 */
export function installKnownRoutes(app: FastifyInstance, config: Config): { readonly hideFromOthers: () => void } {
  const { corsOrigins } = config
  const routes: KnownRoute[] = []
  const operators = operatorNetworks(config.operatorNetworks)
  const hasOrigins = corsOrigins.length > 0
  const allowsAll = corsOrigins.includes('*')

  app.addHook('onRoute', (route) => {
    const methods = [route.method].flat()
    const crossOrigin = hasOrigins && READS.test(route.url) && methods.every((method) => READ_METHODS.includes(method))
    const forOperators = FOR_OPERATORS.test(route.url)
    if (crossOrigin || forOperators) route.config = { ...route.config, crossOrigin, forOperators }
    for (const method of methods) routes.push({ pattern: toPattern(route.url), method, crossOrigin, forOperators })
  })

  /** Returns whether the page may read the answer. */
  const allowAnswer = ({ headers: { origin } }: FastifyRequest, reply: FastifyReply): boolean => {
    if (!allowsAll) addVary(reply, 'Origin')
    if (origin === undefined || !(allowsAll || corsOrigins.includes(origin))) return false
    reply.header('access-control-allow-origin', allowsAll ? '*' : origin)
    return true
  }
  // Without origins no request pays for this.
  if (hasOrigins)
    app.addHook('onRequest', (request, reply, done) => {
      if (request.routeOptions.config.crossOrigin && allowAnswer(request, reply))
        reply.header('access-control-expose-headers', ANSWER_HEADERS)
      done()
    })

  /** Answers the question of a browser whether a page may send a request. */
  const allowRequest = (request: FastifyRequest, reply: FastifyReply): void => {
    const { 'access-control-request-method': method } = request.headers
    if (!allowAnswer(request, reply) || method === undefined) return
    reply.headers({
      'access-control-allow-methods': READ_METHODS.join(', '),
      'access-control-allow-headers': REQUEST_HEADERS,
      'access-control-max-age': String(REMEMBER_SECONDS),
    })
  }

  const isHidden = ({ forOperators }: { readonly forOperators?: boolean }, { address }: FastifyRequest): boolean =>
    forOperators === true && operators?.contain(address) === false

  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const path = pathOf(request.url)
    const isOptions = request.method === 'OPTIONS'
    // The asterisk asks about the server as a whole (RFC 9110, 9.3.7).
    const asked = routes.filter(({ pattern }) => pattern.test(path) || (isOptions && path === '*'))
    const known = asked.filter((route) => !isHidden(route, request))
    if (known.length === 0) throw new AppError(httpErrors.notFound)
    const methods = [...new Set(known.map(({ method }) => method))].sort()
    if (isOptions) {
      if (known.some(({ crossOrigin }) => crossOrigin)) allowRequest(request, reply)
      reply.header('allow', [...methods, 'OPTIONS'].sort().join(', '))
      return reply.code(204).send()
    }
    reply.header('allow', methods.join(', '))
    throw new AppError(httpErrors.methodNotAllowed, {
      message: `This address allows ${methods.join(' and ')} only, not ${request.method}.`,
    })
  }
  // A hook too, although the types lack it: otherwise the body would be read first.
  app.setNotFoundHandler({ onRequest: answer } as object, answer)

  return {
    /** Answers as if the routes of operators were not there. Must be called after all other hooks that every request passes. */
    hideFromOthers() {
      if (operators === undefined) return
      app.addHook('onRequest', (request, reply, done) => {
        if (isHidden(request.routeOptions.config, request)) reply.callNotFound()
        else done()
      })
    },
  }
}

/** The path that the router sees: decoded, without origin, query and fragment. */
const pathOf = (url: string): string => {
  const path = url.replace(/^https?:\/\/[^/]*/i, '').split(/[?#]/, 1)[0] ?? ''
  return decodeURI(path)
}

const toPattern = (url: string): RegExp => {
  const parts = url
    .split('/')
    .map((part) => (part.startsWith(':') ? '[^/]+' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
  return new RegExp(`^${parts.join('/')}/?$`, 'i')
}
