import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** For the log line: who it was, how it was refused, and why in words the caller does not get. */
    customerId: string | null
    errorCode: string | null
    refusal: string | null
  }
}

/** One line a request. Never the address asked for, which may hold a secret: the route's pattern instead. */
export function installRequestLog(app: FastifyInstance): void {
  app.decorateRequest('customerId', null)
  app.decorateRequest('errorCode', null)
  app.decorateRequest('refusal', null)

  app.addHook('onResponse', (request, reply, done) => {
    request.log.info(
      {
        requestId: request.id,
        method: request.method,
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
        customerId: request.customerId,
        errorCode: request.errorCode,
        ...(request.refusal !== null && { reason: request.refusal }),
        address: request.ip,
      },
      'request',
    )
    done()
  })
}
