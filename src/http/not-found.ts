import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '#src/lib/app-error.ts'
import type { CrossOrigin } from './answers/cross-origin.ts'
import { httpErrors } from './http.errors.ts'

interface KnownRoute {
  readonly pattern: RegExp
  readonly method: string
  readonly crossOrigin: boolean
}

/** Answers 404 for an unknown address, and for a known one 405 with `Allow` under another method, or 204 with `Allow` under OPTIONS. */
export function installNotFound(app: FastifyInstance, { allowRequest }: CrossOrigin): void {
  const routes: KnownRoute[] = []

  app.addHook('onRoute', ({ url, method, config }) => {
    const crossOrigin = config?.crossOrigin === true
    for (const name of [method].flat()) routes.push({ pattern: toPattern(url), method: name, crossOrigin })
  })

  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const path = pathOf(request.url)
    const isOptions = request.method === 'OPTIONS'
    // The asterisk asks about the server as a whole (RFC 9110, 9.3.7).
    const known = routes.filter(({ pattern }) => pattern.test(path) || (isOptions && path === '*'))
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
