import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { headerCount } from '#src/lib/net/header-count.ts'
import { stopReadingWhenPaused } from './body/paused-body.ts'
import { answerConnect } from './connections/broken-request.ts'
import { limitConnections } from './connections/connection-limit.ts'
import { installExpectation } from './connections/expectation.ts'
import { measurePressure, type Pressure } from './connections/pressure.ts'
import { httpErrors } from './http.errors.ts'
import type { RequestMetrics } from './log/request-metrics.ts'
import { commonHeaders } from './response-headers.ts'

export interface RequestHookDependencies {
  readonly config: Config
  readonly clock: Clock
  readonly requests: RequestMetrics
}

/** Made once, as finding out where an error is thrown costs more than the rest of a refusal. */
const TOO_MUCH = new AppError(httpErrors.overloaded)

/** Checks every request before its body is read. Returns what measures how busy this process is. */
export function installRequestHooks(app: FastifyInstance, dependencies: RequestHookDependencies): Pressure {
  const { config, clock, requests } = dependencies
  const isBeyondLimit = limitConnections(app, config)
  const pressure = measurePressure(app, clock)
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
    if (pressure.refuses(isRead) && !request.routeOptions.config.answeredAlways) throw TOO_MUCH
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

  installExpectation(app)
  app.server.on('connect', answerConnect(app.log, requests))
  return pressure
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
