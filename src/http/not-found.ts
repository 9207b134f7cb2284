import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '#src/lib/app-error.ts'
import { httpErrors } from './http.errors.ts'

interface KnownRoute {
  readonly pattern: RegExp
  readonly method: string
}

/** Answers 404 for an unknown address, and 405 with `Allow` for a known one under another method. */
export function installNotFound(app: FastifyInstance): void {
  const routes: KnownRoute[] = []

  app.addHook('onRoute', ({ url, method }) => {
    for (const name of [method].flat()) routes.push({ pattern: toPattern(url), method: name })
  })

  const refuse = async (request: FastifyRequest, reply: FastifyReply): Promise<never> => {
    const path = pathOf(request.url)
    const allow = routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    if (allow.length === 0) throw new AppError(httpErrors.notFound)
    const methods = [...new Set(allow)].sort()
    reply.header('allow', methods.join(', '))
    throw new AppError(httpErrors.methodNotAllowed, {
      message: `This address allows ${methods.join(' and ')} only, not ${request.method}.`,
    })
  }
  // A hook too, although the types lack it: otherwise the body would be read first.
  app.setNotFoundHandler({ onRequest: refuse } as object, refuse)
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
