import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { budgetOwner, type Reservation } from '../body/budget.ts'
import { httpErrors } from '../http.errors.ts'
import { onConnection } from '../tls.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** How many bytes an answer may have. */
    availableForAnswer(request: FastifyRequest): number
    /** Reserves memory for an answer of about that many bytes before it is made. Throws if there is none. */
    reserveAnswer(request: FastifyRequest, bytes: number): void
  }
  interface FastifyRequest {
    /** The memory of the answer until it is read; released when the request ends. */
    answerReservation: Reservation | null
  }
}

export interface UnreadLimits {
  /** A client that takes less than 64 KiB in this time, while more waits for it, is disconnected. */
  readonly patienceMilliseconds: number
  /** What may wait in all connections together, without large answers, which `installAnswerBudget` counts. */
  readonly maxBytes: number
}

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

/** Disconnects clients that do not read, whatever they were sent: an answer, events, or the answers to an upload. */
export function cutUnread(
  { server, log }: FastifyInstance,
  limits: UnreadLimits,
  clock: Pick<Clock, 'monotonic'>,
): void {
  const { patienceMilliseconds, maxBytes } = limits
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

  onConnection(server, (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const polling = setInterval(poll, Math.min(POLL_MILLISECONDS, patienceMilliseconds / 4)).unref()
  server.once('close', () => clearInterval(polling))
}

/** Disconnects a client so that the system, too, forgets what it has not read. */
export function disconnect(socket: Socket): void {
  if ('encrypted' in socket) socket.destroy()
  else socket.resetAndDestroy()
}

/** Smaller answers mostly fit into what the system holds for a connection. */
const LARGE_BYTES = 65_536
const RETRY_SECONDS = 2

/** Created once: capturing a stack trace costs more than the rest of a refusal. */
const TOO_MUCH_UNREAD = new AppError(httpErrors.answersOverloaded, { retryAfterSeconds: RETRY_SECONDS })

/** Large answers count against the budget until they are read: a client that does not read what it asked for gets no more. */
export function installAnswerBudget(app: FastifyInstance) {
  const reserve = (request: FastifyRequest, bytes: number): boolean => {
    const { socket } = request.raw
    // Nothing would release the memory.
    if (socket.destroyed) return true
    request.answerReservation = app.bodyBudget.answers.reserve(budgetOwner(request), () => disconnect(socket))
    return request.answerReservation.extend(bytes)
  }

  app.decorateRequest('answerReservation', null)
  app.decorate('availableForAnswer', (request) => app.bodyBudget.answers.available(budgetOwner(request)))
  app.decorate('reserveAnswer', (request, bytes) => {
    if (bytes > LARGE_BYTES && !reserve(request, bytes)) throw TOO_MUCH_UNREAD
  })

  return {
    /** Refuses a request whose caller may not reserve a large answer, before anything is read for it. */
    check(request: FastifyRequest): void {
      if (!app.bodyBudget.answers.canReserve(budgetOwner(request), LARGE_BYTES)) throw TOO_MUCH_UNREAD
    },

    /** What to send for content that waits in memory until it is read, which `isShared` content does anyway. */
    held(request: FastifyRequest, reply: FastifyReply, content: string | Buffer, isShared: boolean) {
      // An answer without a connection waits for those to earlier requests of the same client.
      const isWaiting = reply.raw.socket === null
      if (content.length <= LARGE_BYTES && !isWaiting) return content
      const bytes = typeof content === 'string' ? Buffer.from(content) : content
      if (!isShared && request.answerReservation === null && !reserve(request, bytes.length)) throw TOO_MUCH_UNREAD
      if (bytes.length <= LARGE_BYTES) return bytes
      reply.header('content-length', bytes.length)
      return inPieces(bytes)
    },
  }
}

/** Sends only as much as the client takes: all at once would wait in the connection, encrypted a second time. */
function inPieces(bytes: Buffer): Readable {
  let sent = 0
  return new Readable({
    highWaterMark: LARGE_BYTES,
    read() {
      const piece = bytes.subarray(sent, sent + LARGE_BYTES)
      sent += piece.length
      this.push(piece.length === 0 ? null : piece)
    },
  })
}
