import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import { lingerBeforeDestroy } from './lingering.ts'

/** Long enough for a proxy to send a request on a connection it has just chosen. */
const LONGEST_QUIET_MILLISECONDS = 1_000
const LOOK_EVERY_MILLISECONDS = 50

interface Look {
  bytesRead: number
  bytesWritten: number
  /** When bytes were last read or written, or a request was being handled. */
  since: number
  /** Whether bytes arrived that were not answered: half of a request, for example. */
  unanswered: boolean
}

/** Makes a closing server end each kept connection when it falls quiet. Node would end them at once. */
export function installDraining(app: FastifyInstance, { shutdownSeconds }: Config, clock: Clock): void {
  const quiet = Math.min(LONGEST_QUIET_MILLISECONDS, shutdownSeconds * 250)
  const open = new Set<Socket>()
  app.server.on(app.tls === null ? 'connection' : 'secureConnection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })

  const drain = (): void => {
    const looks = new Map<Socket, Look>()
    const look = (): void => {
      for (const socket of open) {
        if (!socket.writableEnded && isQuiet(socket, looks, clock.monotonic(), quiet)) endGently(socket)
      }
    }
    look()
    const looking = setInterval(look, LOOK_EVERY_MILLISECONDS)
    app.server.once('close', () => clearInterval(looking))
  }
  let draining = false
  // `close` calls this. Meanwhile Fastify answers each request with `Connection: close`.
  app.server.closeIdleConnections = () => {
    if (!draining) drain()
    draining = true
  }
}

function isQuiet(socket: Socket, looks: Map<Socket, Look>, now: number, quiet: number): boolean {
  const { bytesRead, bytesWritten } = socket
  const busy = Boolean((socket as { readonly _httpMessage?: unknown })._httpMessage)
  const last = looks.get(socket)
  if (last === undefined) {
    looks.set(socket, { bytesRead, bytesWritten, since: now, unanswered: false })
    return false
  }
  if (bytesRead !== last.bytesRead || bytesWritten !== last.bytesWritten) {
    const unanswered = bytesWritten === last.bytesWritten
    Object.assign(last, { bytesRead, bytesWritten, since: now, unanswered })
  }
  if (busy) last.since = now
  return !busy && !last.unanswered && now - last.since >= quiet
}

/** A request that arrives just then gets neither an answer nor a reset; request-hooks.ts drops it. */
function endGently(socket: Socket): void {
  socket.end()
  lingerBeforeDestroy(socket)
}
