import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'

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
