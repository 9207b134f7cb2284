import type { IncomingMessage } from 'node:http'
import { isIP, isIPv6 } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import { type Clock, systemClock } from '#src/lib/clock.ts'
import { addressBytes, networkText } from '#src/lib/net/network.ts'
import { newId, systemRandom } from '#src/lib/random.ts'
import { limitConnections, measureOverload, type Overload } from './connections/limits.ts'
import { stopReadingWhenPaused } from './connections/node-internals.ts'
import { commonHeaders } from './envelope.ts'
import { httpErrors } from './http.errors.ts'

const SLASH = 0x2f
const LEADING_SLASHES = /^(?:https?:\/\/[^/?#]*)?\/{2,}/i

/** Treats several leading slashes as one: a base URL that ends in a slash makes `//Purchase/update`. */
export function singleLeadingSlash({ url = '/' }: { readonly url?: string }): string {
  const plain = url.charCodeAt(0) === SLASH && url.charCodeAt(1) !== SLASH
  return plain ? url : url.replace(LEADING_SLASHES, '/')
}

const ACCEPTABLE_ID = /^[\x21-\x7e]{1,128}$/

/** Returns the client's own id if it is 1 to 128 visible ASCII characters, else a new one. */
export function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const sent = request.headers['x-request-id']
  return typeof sent === 'string' && ACCEPTABLE_ID.test(sent) ? sent : newId(systemClock.now(), systemRandom)
}

const UNKNOWN = 'unknown'

/**
 * Returns the client's address: the connection's, or the one that a trusted proxy names. Drops the port that some proxies add.
 * If the proxy names no address, returns the proxy's own. A connection that has closed meanwhile has no address.
 */
export function clientAddress({
  ip,
  socket,
}: Pick<FastifyRequest, 'socket'> & { readonly ip: string | undefined }): string {
  if (ip === undefined) return UNKNOWN
  if (ip === socket.remoteAddress) return ip
  if (isIP(ip) !== 0) return canonical(ip)
  const [, bare = ''] = /^\[([^\]]+)\](?::\d+)?$/.exec(ip) ?? /^([\d.]+):\d+$/.exec(ip) ?? []
  return isIP(bare) !== 0 ? canonical(bare) : (socket.remoteAddress ?? UNKNOWN)
}

/** As it is searched for: proxies may write IPv6 addresses in other ways. */
function canonical(address: string): string {
  const bytes = isIPv6(address) && !address.includes('%') ? addressBytes(address) : undefined
  return bytes === undefined ? address : networkText({ bytes, prefixBits: 8 * bytes.length })
}

const ONE = 'There must be exactly one Authorization header, and it must not be empty.'

/** Returns the Authorization header. Several count as an empty one: a proxy may have judged another one than Node keeps. */
export const authorizationOf = ({
  headers: { authorization },
  rawHeaders,
}: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): string | undefined =>
  authorization !== undefined && headerCount(rawHeaders, 'authorization') > 1 ? '' : authorization

/** Reads the token of an `Authorization: Bearer` header (RFC 6750). */
export function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined) throw new AppError(httpErrors.tokenMissing)
  if (authorization === '') throw new AppError(httpErrors.notBearer, { message: ONE })
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1]
  if (token === undefined) throw new AppError(httpErrors.notBearer)
  return token
}

/** Counts a header among the raw ones: Node keeps only the first of several. `name` is in lower case; names have even indexes. */
function headerCount(rawHeaders: readonly string[], name: string): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i]
    if (sent?.length === name.length && sent.toLowerCase() === name) count++
  }
  return count
}

/** Created once: capturing a stack trace costs more than the rest of a refusal. */
const TOO_MUCH = new AppError(httpErrors.overloaded)

/** Checks every request before its body is read. */
export function installRequestHooks(app: FastifyInstance, config: Config, clock: Clock): Overload {
  const isBeyondLimits = limitConnections(app, config)
  const overload = measureOverload(app, clock)
  app.addHook('onRequest', (request, reply, done) => {
    // The request cannot be answered any more; the client will send it again.
    if (request.raw.socket.writableEnded) {
      request.raw.destroy()
      return
    }
    reply.headers(commonHeaders(request.id))
    const { headers } = request
    if (isBeyondLimits(request, reply)) {
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
