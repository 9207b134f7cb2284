import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'

/**
 * Returns the client's address: the connection's, or the one that a trusted proxy names. Drops the port that some proxies add.
 * If the proxy names no address, returns the proxy's own.
 */
export function clientAddress({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  if (ip === socket.remoteAddress || isIP(ip) !== 0) return ip
  const [, bare = ''] = /^\[([^\]]+)\](?::\d+)?$/.exec(ip) ?? /^([\d.]+):\d+$/.exec(ip) ?? []
  return isIP(bare) !== 0 ? bare : (socket.remoteAddress ?? 'unknown')
}
