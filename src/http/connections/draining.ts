import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import { insteadOfClosingIdle, lingerBeforeDestroy, withoutRequest } from './node-internals.ts'

/** Long enough for a proxy to send a request on a connection it has just chosen. */
const MAX_QUIET_MILLISECONDS = 1_000
const POLL_MILLISECONDS = 50
/** A request that crosses with the end of its connection arrives within a round trip. Clients that do not watch never close their side. */
const LINGER_PART = 1 / 5

interface Seen {
  readonly bytesRead: number
  /** When bytes were last read, or a request was under way. */
  readonly since: number
}

/** Makes a closing server end each kept connection after a quiet second. Node would end them at once. */
export function installDraining({ server, tls }: FastifyInstance, { shutdownSeconds }: Config, clock: Clock): void {
  const quiet = Math.min(MAX_QUIET_MILLISECONDS, shutdownSeconds * 250)

  const drain = (): void => {
    const begin = clock.monotonic()
    let seen = new Map<Socket, Seen>()
    const poll = (): void => {
      const now = clock.monotonic()
      const before = seen
      seen = new Map()
      for (const socket of withoutRequest(server)) {
        const { bytesRead } = socket
        const last = before.get(socket)
        const since = last?.bytesRead === bytesRead ? last.since : now
        seen.set(socket, { bytesRead, since })
        if (socket.writableEnded || now - since < quiet) continue
        // A request that arrives just then gets neither an answer nor a reset; request-head.ts drops it.
        socket.end()
        lingerBeforeDestroy(socket, quiet * LINGER_PART)
      }
      if (now - begin >= quiet) tls?.endHandshakes()
    }
    poll()
    const polling = setInterval(poll, POLL_MILLISECONDS)
    server.once('close', () => clearInterval(polling))
  }
  let draining = false
  // Meanwhile Fastify answers each request with `Connection: close`.
  insteadOfClosingIdle(server, () => {
    if (!draining) drain()
    draining = true
  })
}
