import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '#src/lib/clock.ts'
import { onConnection } from './on-connection.ts'

export interface UnreadLimits {
  /** A client that takes less than `LEAST_BYTES` in this time, while more waits for it, is disconnected. */
  readonly patienceMilliseconds: number
  /** Of all connections together. Large answers wait outside of them, where `answers/held-answers.ts` counts them. */
  readonly mostBytes: number
}

/** Slow mobile networks take ten times as much. */
const LEAST_BYTES = 65_536
const LOOK_EVERY_MILLISECONDS = 1000
/** Beyond `mostBytes` a client that has taken nothing for this time makes room for others. */
const SHORT_PATIENCE_MILLISECONDS = 2000

interface Mark {
  readonly since: number
  /** Bytes that the system had taken then. */
  readonly taken: number
}

/** Disconnects clients that do not read, whatever they were sent: an answer, events, or the answers to an upload. */
export function cutUnread(
  { server, log }: FastifyInstance,
  limits: UnreadLimits,
  clock: Pick<Clock, 'monotonic'>,
): void {
  const { patienceMilliseconds, mostBytes } = limits
  const sockets = new Set<Socket>()
  let marks = new Map<Socket, Mark>()

  const cut = (socket: Socket): void => {
    log.info(
      { address: socket.remoteAddress, unsentBytes: socket.writableLength },
      'a client that does not read is disconnected',
    )
    disconnect(socket)
  }

  const look = (): void => {
    const now = clock.monotonic()
    const before = marks
    let unsent = 0
    marks = new Map()
    for (const socket of sockets) {
      const { writableLength } = socket
      if (writableLength === 0) continue
      const taken = socket.bytesWritten - writableLength
      const last = before.get(socket)
      const mark = last !== undefined && taken - last.taken < LEAST_BYTES ? last : { since: now, taken }
      if (now - mark.since >= patienceMilliseconds) {
        cut(socket)
        continue
      }
      marks.set(socket, mark)
      unsent += writableLength
    }
    if (unsent <= mostBytes) return
    for (const [socket, { since }] of [...marks].sort(([, one], [, other]) => one.since - other.since)) {
      if (unsent <= mostBytes || now - since < SHORT_PATIENCE_MILLISECONDS) return
      unsent -= socket.writableLength
      cut(socket)
    }
  }

  onConnection(server, (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const looking = setInterval(look, Math.min(LOOK_EVERY_MILLISECONDS, patienceMilliseconds / 4)).unref()
  server.once('close', () => clearInterval(looking))
}

/** Disconnects a client so that the system, too, forgets what it has not read. */
export function disconnect(socket: Socket): void {
  if ('encrypted' in socket) socket.destroy()
  else socket.resetAndDestroy()
}
