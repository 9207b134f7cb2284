import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import { lingerBeforeDestroy } from './lingering.ts'

/** Long enough for a proxy to send a request on a connection it has just chosen. */
const LONGEST_QUIET_MILLISECONDS = 1_000
const LOOK_EVERY_MILLISECONDS = 50
/** A request that crosses with the end of its connection arrives within a round trip. Clients that do not watch never close their side. */
const LINGER_PART = 1 / 5

/** Makes a closing server end each kept connection after a quiet second. Node would end them at once. */
export function installDraining({ server, tls }: FastifyInstance, { shutdownSeconds }: Config, clock: Clock): void {
  const quiet = Math.min(LONGEST_QUIET_MILLISECONDS, shutdownSeconds * 250)

  const drain = (): void => {
    const begin = clock.monotonic()
    let looks = new Map<Socket, Look>()
    const look = (): void => {
      const now = clock.monotonic()
      const before = looks
      looks = new Map()
      for (const socket of withoutRequest(server)) {
        const { bytesRead } = socket
        const last = before.get(socket)
        const since = last?.bytesRead === bytesRead ? last.since : now
        looks.set(socket, { bytesRead, since })
        if (!socket.writableEnded && now - since >= quiet) endGently(socket, quiet * LINGER_PART)
      }
      if (now - begin >= quiet) tls?.endHandshakes()
    }
    look()
    const looking = setInterval(look, LOOK_EVERY_MILLISECONDS)
    server.once('close', () => clearInterval(looking))
  }
  let draining = false
  // `close` calls this. Meanwhile Fastify answers each request with `Connection: close`.
  server.closeIdleConnections = () => {
    if (!draining) drain()
    draining = true
  }
}

interface Look {
  bytesRead: number
  /** When bytes were last read, or a request was under way. */
  since: number
}

interface Parser {
  readonly socket: Socket & { readonly _httpMessage?: unknown }
  readonly incoming: { readonly complete: boolean } | null
}

/** What Node keeps for its time limits. Nothing public tells which connections are idle, or have half of a request. */
interface ConnectionsList {
  idle(): readonly Parser[]
  active(): readonly Parser[]
}

/** Lists the connections without a request under way, not even half of one; the rest of a body that was refused does not count. */
function withoutRequest(server: Server): Socket[] {
  const key = Object.getOwnPropertySymbols(server).find(({ description }) => description === 'http.server.connections')
  const connections = (server as unknown as Record<symbol, ConnectionsList | undefined>)[key as symbol]
  if (connections === undefined) return []
  const answered = connections.active().filter(({ incoming }) => incoming?.complete === false)
  const sockets = [...connections.idle(), ...answered].map(({ socket }) => socket)
  return sockets.filter(({ _httpMessage }) => !_httpMessage)
}

/** A request that arrives just then gets neither an answer nor a reset; request-hooks.ts drops it. */
function endGently(socket: Socket, lingerMilliseconds: number): void {
  socket.end()
  lingerBeforeDestroy(socket, lingerMilliseconds)
}
