import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '#src/lib/clock.ts'
import { onConnection } from '../tls.ts'

const MIN_BYTES = 65_536
/**
 * A client that has taken something is waited for this many times longer. The system asks for more only when a third of what it holds
 * for a client has gone: over a link of 10 KB/s, seen at 15 seconds.
 */
const LONGER_ONCE_TAKEN = 2
const POLL_MILLISECONDS = 1000
/** Beyond `maxBytes` a client that has taken nothing for this time is disconnected. */
const SHORT_PATIENCE_MILLISECONDS = 2000

interface Mark {
  readonly since: number
  readonly patienceMilliseconds: number
  /** Bytes that the system had taken then. */
  readonly taken: number
}

/**
 * Disconnects clients that do not read, whatever they were sent: an answer, events, or the answers to an upload. That is a client that
 * takes less than 64 KiB in `patienceMilliseconds` while more waits for it. `maxBytes` may wait in all connections together, without large
 * answers, which `installAnswerBudget` counts.
 */
export function cutUnread(
  { server, log }: FastifyInstance,
  clock: Pick<Clock, 'monotonic'>,
  patienceMilliseconds: number,
  maxBytes: number,
): void {
  const sockets = new Set<Socket>()
  let marks = new Map<Socket, Mark>()

  const cut = (socket: Socket): void => {
    log.info(
      { address: socket.remoteAddress, unsentBytes: socket.writableLength },
      'a client that does not read is disconnected',
    )
    disconnect(socket)
  }

  const poll = (): void => {
    const now = clock.monotonic()
    const before = marks
    let unsent = 0
    marks = new Map()
    for (const socket of sockets) {
      const { writableLength } = socket
      if (writableLength === 0) continue
      const taken = socket.bytesWritten - writableLength
      const last = before.get(socket) ?? { since: now, patienceMilliseconds, taken }
      const hasTaken = taken - last.taken >= MIN_BYTES
      const longer = LONGER_ONCE_TAKEN * patienceMilliseconds
      const mark = hasTaken ? { since: now, patienceMilliseconds: longer, taken } : last
      if (now - mark.since >= mark.patienceMilliseconds) {
        cut(socket)
        continue
      }
      marks.set(socket, mark)
      unsent += writableLength
    }
    if (unsent <= maxBytes) return
    for (const [socket, { since }] of [...marks].sort(([, one], [, other]) => one.since - other.since)) {
      if (unsent <= maxBytes || now - since < SHORT_PATIENCE_MILLISECONDS) return
      unsent -= socket.writableLength
      cut(socket)
    }
  }

  // Without connections nothing is polled.
  let polling: NodeJS.Timeout | undefined
  onConnection(server, (socket) => {
    sockets.add(socket)
    polling ??= setInterval(poll, Math.min(POLL_MILLISECONDS, patienceMilliseconds / 4)).unref()
    socket.once('close', () => {
      sockets.delete(socket)
      if (sockets.size > 0) return
      clearInterval(polling)
      polling = undefined
    })
  })
}

/** Disconnects a client so that the system, too, forgets what it has not read. */
export function disconnect(socket: Socket): void {
  if ('encrypted' in socket) socket.destroy()
  else socket.resetAndDestroy()
}
