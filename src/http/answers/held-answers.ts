import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '#src/lib/app-error.ts'
import { type HeldBody, roomOwner } from '../body/budget.ts'
import { disconnect } from '../connections/unread.ts'
import { httpErrors } from '../http.errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** How large an answer may be for which there is room. */
    answerRoom(request: FastifyRequest): number
    /** Takes room for an answer of about so many bytes before it is made. Throws if there is none. */
    holdAnswer(request: FastifyRequest, bytes: number): void
  }
  interface FastifyRequest {
    /** The room that the answer takes until it is read; given back when the request ends. */
    heldAnswer: HeldBody | null
  }
}

/** Smaller answers mostly fit into what the system holds for a connection. */
const LARGE_BYTES = 65_536
const RETRY_SECONDS = 2

/** Made once, as finding out where an error is thrown costs more than the rest of a refusal. */
const TOO_MUCH_UNREAD = new AppError(httpErrors.answersOverloaded, { retryAfterSeconds: RETRY_SECONDS })

/** Large answers take room of the budget until they are read: whoever does not read what was asked for gets no more. */
export function installHeldAnswers(app: FastifyInstance) {
  const hold = (request: FastifyRequest, bytes: number): boolean => {
    const { socket } = request.raw
    // Nothing would give the room back.
    if (socket.destroyed) return true
    request.heldAnswer = app.bodyBudget.answers.hold(roomOwner(request), () => disconnect(socket))
    return request.heldAnswer.grow(bytes)
  }

  app.decorateRequest('heldAnswer', null)
  app.decorate('answerRoom', (request) => app.bodyBudget.answers.roomOf(roomOwner(request)))
  app.decorate('holdAnswer', (request, bytes) => {
    if (bytes > LARGE_BYTES && !hold(request, bytes)) throw TOO_MUCH_UNREAD
  })

  return {
    /** Refuses a request whose caller has no room for a large answer, before anything is read for it. */
    check(request: FastifyRequest): void {
      const { answers } = app.bodyBudget
      if (!answers.isEmpty() && !answers.hasRoom(roomOwner(request), LARGE_BYTES)) throw TOO_MUCH_UNREAD
    },

    /** What to send for content that waits in memory until it is read, which `isShared` content does anyway. */
    held(request: FastifyRequest, reply: FastifyReply, content: string | Buffer, isShared: boolean) {
      // An answer without a connection waits for those to earlier requests of the same client.
      const isWaiting = reply.raw.socket === null
      if (content.length <= LARGE_BYTES && !isWaiting) return content
      const bytes = typeof content === 'string' ? Buffer.from(content) : content
      if (!isShared && request.heldAnswer === null && !hold(request, bytes.length)) throw TOO_MUCH_UNREAD
      if (bytes.length <= LARGE_BYTES) return bytes
      reply.header('content-length', bytes.length)
      return inPieces(bytes)
    },
  }
}

/** Hands over what the client takes: all at once would wait in the connection, encrypted a second time. */
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
