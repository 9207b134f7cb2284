import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { AppError } from '#src/lib/app-error.ts'
import { systemClock } from '#src/lib/clock.ts'
import { newId } from '#src/lib/ids.ts'
import { headerCount } from '#src/lib/net/header-count.ts'
import { systemRandom } from '#src/lib/random.ts'
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
  if (ip === socket.remoteAddress || isIP(ip) !== 0) return ip
  const [, bare = ''] = /^\[([^\]]+)\](?::\d+)?$/.exec(ip) ?? /^([\d.]+):\d+$/.exec(ip) ?? []
  return isIP(bare) !== 0 ? bare : (socket.remoteAddress ?? UNKNOWN)
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
