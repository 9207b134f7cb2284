import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'

/**
 * The address of the client: the connection's, or what a trusted proxy says it is. Some proxies add the port; what is no
 * address at all is the proxy's fault, and its own address has to do.
 */
export function clientAddress({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  if (ip === socket.remoteAddress || isIP(ip) !== 0) return ip
  const [, bare = ''] = /^\[([^\]]+)\](?::\d+)?$/.exec(ip) ?? /^([\d.]+):\d+$/.exec(ip) ?? []
  return isIP(bare) !== 0 ? bare : (socket.remoteAddress ?? 'unknown')
}
