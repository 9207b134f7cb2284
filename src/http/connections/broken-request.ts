import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import type { ErrorDefinition } from '#src/lib/app-error.ts'
import { failure, STATUS } from '../error-handler.ts'
import { httpErrors } from '../http.errors.ts'
import { jsonLine } from '../newline.ts'
import { JSON_TYPE } from '../raw-answer.ts'
import { requestId } from '../request-id.ts'
import { commonHeaders } from '../response-headers.ts'
import { lingerBeforeDestroy } from './lingering.ts'

type SocketError = Error & { readonly code?: string }

const BROKEN: Readonly<Record<string, ErrorDefinition | undefined>> = {
  HPE_HEADER_OVERFLOW: httpErrors.headersTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: httpErrors.requestTimeout,
}

/** What OpenSSL and Node call a handshake that failed: nothing can be answered over it. */
const HANDSHAKE = /^(ERR_SSL|ERR_TLS|EPROTO)/

/** Requests that were refused before their bodies had come, by their connections. */
const refusedEarly = new WeakMap<Socket, IncomingMessage>()

/** To be told of every request that has been answered. */
export function noteAnswered(request: IncomingMessage): void {
  if (request.complete) return
  const { socket } = request
  refusedEarly.set(socket, request)
  if (socket.writableEnded) lingerBeforeDestroy(socket)
}

/** For bytes that Node's parser refuses: there is no request yet, so the answer is written by hand. */
export const answerBrokenRequest = (logger: FastifyBaseLogger) => {
  // Every further byte is one more error.
  const seen = new WeakSet<Socket>()

  const answer = (error: SocketError, socket: Socket): void => {
    if (seen.has(socket)) return
    const reason = error.code
    if (HANDSHAKE.test(reason ?? '')) {
      logger.info({ reason, address: socket.remoteAddress }, 'broken TLS handshake')
      socket.destroy()
      return
    }
    // The rest of a request that has its answer already gets no second one, and what belongs to a later request waits
    // for the answers before it: else the client would take one for another.
    const hasItsAnswer = refusedEarly.get(socket)?.complete === false
    if (reason === 'ECONNRESET' || !socket.writable || hasItsAnswer) {
      socket.destroy()
      return
    }
    const current = (socket as Socket & { readonly _httpMessage?: ServerResponse })._httpMessage
    if (current?.req.complete) {
      seen.add(socket)
      current.once('close', () => {
        seen.delete(socket)
        answer(error, socket)
      })
      return
    }
    if (current?.headersSent) {
      socket.destroySoon()
      return
    }
    seen.add(socket)
    write(socket, BROKEN[reason ?? ''] ?? httpErrors.badRequest, logger, reason)
  }
  return answer
}

/** Node closes the connection of a CONNECT without a word. */
export const answerConnect =
  (logger: FastifyBaseLogger) =>
  (_request: IncomingMessage, socket: Socket): void => {
    socket.on('error', () => socket.destroy())
    write(socket, httpErrors.noTunnel, logger, 'CONNECT', { allow: '' })
  }

function write(
  socket: Socket,
  definition: ErrorDefinition,
  logger: FastifyBaseLogger,
  reason: string | undefined,
  more: Readonly<Record<string, string>> = {},
): void {
  const status = STATUS[definition.kind]
  const id = requestId({ headers: {} })
  const body = jsonLine(failure(definition, id))
  const headers = {
    ...commonHeaders(id),
    ...more,
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
  lingerBeforeDestroy(socket)
  logger.info(
    { requestId: id, status, errorCode: definition.code, reason, address: socket.remoteAddress },
    'broken request',
  )
}
