import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { headerCount } from '#src/lib/net/header-count.ts'
import { answerConnect } from './connections/broken-request.ts'
import { limitConnections } from './connections/connection-limit.ts'
import { stopReadingWhenPaused } from './connections/node-internals.ts'
import { measureOverload, type Overload } from './connections/overload.ts'
import { commonHeaders } from './envelope.ts'
import { httpErrors } from './http.errors.ts'
import type { RequestMetrics } from './log/request-metrics.ts'

/** Created once: capturing a stack trace costs more than the rest of a refusal. */
const TOO_MUCH = new AppError(httpErrors.overloaded)

/** Checks every request before its body is read. */
export function installRequestHooks(
  app: FastifyInstance,
  config: Config,
  clock: Clock,
  requests: RequestMetrics,
): Overload {
  const isBeyondLimit = limitConnections(app, config)
  const overload = measureOverload(app, clock)
  app.addHook('onRequest', (request, reply, done) => {
    // The request cannot be answered any more; the client will send it again.
    if (request.raw.socket.writableEnded) {
      request.raw.destroy()
      return
    }
    reply.headers(commonHeaders(request.id))
    const { headers } = request
    if (isBeyondLimit(request)) {
      reply.header('connection', 'close')
      throw new AppError(httpErrors.connectionsOverloaded)
    }
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (overload.refuses(isRead) && !request.routeOptions.config.answeredAlways) throw TOO_MUCH
    // Node drops bytes read together with an upgrade request: maybe half of the next request.
    if (headers.upgrade !== undefined) reply.header('connection', 'close')
    const fault = framingFault(request.raw)
    if (fault !== undefined) {
      reply.header('connection', 'close')
      throw new AppError(fault)
    }
    if (headers['transfer-encoding'] !== undefined) stopReadingWhenPaused(request.raw)
    const encoding = headers['content-encoding']
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw new AppError(httpErrors.contentEncoding)
    const { expect } = headers
    if (expect !== undefined && expect.toLowerCase() !== '100-continue') throw new AppError(httpErrors.expectation)
    done()
  })

  continueWhenReading(app)
  app.server.on('connect', answerConnect(app.log, requests))
  return overload
}

/**
 * Answers `Expect: 100-continue` with 100 when the body is about to be read, so not before a refusal by the headers alone. Node
 * would send it before any hook has run.
 */
function continueWhenReading(app: FastifyInstance): void {
  app.server.on('checkContinue', (request, response) => {
    const { headers } = request
    const hasBody = Number(headers['content-length']) > 0 || headers['transfer-encoding'] !== undefined
    if (hasBody) {
      const { shouldKeepAlive } = response
      // After a refusal the client may or may not send its body, so the next bytes would be ambiguous.
      response.shouldKeepAlive = false
      request.once('resume', () => {
        if (response.headersSent) return
        response.shouldKeepAlive = shouldKeepAlive
        response.writeContinue()
      })
    }
    app.routing(request, response)
  })

  // Node would answer an unknown expectation with 417 and no body.
  app.server.on('checkExpectation', (request, response) => void app.routing(request, response))
}

/** RFC 3986; empty if the address has no host. */
const HOST = /^[A-Za-z0-9._~!$&'()*+,;=%:[\]-]*$/

/** Finds what Node's parser accepts but a proxy might read differently (request smuggling). */
function framingFault({ httpVersion, headers, rawHeaders }: IncomingMessage): ErrorDefinition | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return httpErrors.httpVersion
  const hosts = headerCount(rawHeaders, 'host')
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) return httpErrors.hostCount
  if (!HOST.test(headers.host ?? '')) return httpErrors.hostMalformed
  const encoding = headers['transfer-encoding']
  if (encoding === undefined || (encoding.toLowerCase() === 'chunked' && httpVersion === '1.1')) return undefined
  return httpErrors.transferEncoding
}
