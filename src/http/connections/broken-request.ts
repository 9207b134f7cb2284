import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import { commonHeaders, failure, JSON_TYPE, jsonLine } from '../envelope.ts'
import { type AnswerCounts, STATUS } from '../error-handler.ts'
import { httpErrors } from '../http.errors.ts'
import { requestId } from '../request-head.ts'
import { answerUnderWay, lingerBeforeDestroy } from './node-internals.ts'

type SocketError = Error & { readonly code?: string }

const BROKEN: Readonly<Record<string, ErrorDefinition | undefined>> = {
  HPE_HEADER_OVERFLOW: httpErrors.headersTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: httpErrors.requestTimeout,
}

/** The list of node:http would load Node's HTTP client with it: a tenth of the start. */
const PHRASES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}

/** Error codes of a failed TLS handshake, after which nothing can be answered. */
const HANDSHAKE = /^(ERR_SSL|ERR_TLS|EPROTO)/

/** Requests refused before their bodies arrived, by connection. */
const refusedEarly = new WeakMap<Socket, IncomingMessage>()

/** The status that a request got although its body never arrived whole. */
const brokenOff = new WeakMap<IncomingMessage, number>()

export const statusOfBroken = (request: IncomingMessage): number | undefined => brokenOff.get(request)

/** Handlers of the routes that answer while the body arrives. They limit its time themselves. */
const brokenHandlers = new WeakMap<IncomingMessage, (definition: ErrorDefinition) => void>()

/** Calls the handler instead of answering when the rest of the body is not HTTP. */
export const onBroken = (request: IncomingMessage, handler: (definition: ErrorDefinition) => void): void =>
  void brokenHandlers.set(request, handler)

/** Must be called for every request that was answered before it had arrived whole. */
export function noteUnfinished(request: IncomingMessage): void {
  const { socket } = request
  refusedEarly.set(socket, request)
  if (socket.writableEnded) lingerBeforeDestroy(socket)
}

/** Answers bytes that Node's parser refuses. There is no request yet, so it writes to the socket. */
export const answerBrokenRequest = (logger: FastifyBaseLogger, requests: AnswerCounts) => {
  // Every further byte would raise the error again.
  const seen = new WeakSet<Socket>()

  const answer = (error: SocketError, socket: Socket): void => {
    if (seen.has(socket)) return
    const reason = error.code
    if (HANDSHAKE.test(reason ?? '')) {
      logger.info({ reason, address: socket.remoteAddress }, 'broken TLS handshake')
      socket.destroy()
      return
    }
    // A request that was answered already gets no second answer, and the error of a later request waits
    // for the answers before it: else the client would match answers to the wrong requests.
    const hasItsAnswer = refusedEarly.get(socket)?.complete === false
    if (reason === 'ECONNRESET' || !socket.writable || hasItsAnswer) {
      socket.destroy()
      return
    }
    const current = answerUnderWay(socket)
    const handler = current && !current.req.complete && brokenHandlers.get(current.req)
    if (handler) {
      if (reason === 'ERR_HTTP_REQUEST_TIMEOUT') return
      seen.add(socket)
      // The client has closed its side before the end of the body.
      if (reason === 'HPE_INVALID_EOF_STATE') socket.destroy()
      else handler(BROKEN[reason ?? ''] ?? httpErrors.badRequest)
      return
    }
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
    const definition = BROKEN[reason ?? ''] ?? httpErrors.badRequest
    write(socket, definition, logger, reason)
    // A request that has reached a route is counted there when it ends.
    if (!current) count(requests, definition)
    else {
      brokenOff.set(current.req, STATUS[definition.kind])
      requests.refused(undefined, definition)
    }
  }
  return answer
}

/** Answers CONNECT with 405; Node would close the connection without an answer. */
export const answerConnect =
  (logger: FastifyBaseLogger, requests: AnswerCounts) =>
  (_request: IncomingMessage, socket: Socket): void => {
    socket.on('error', () => socket.destroy())
    write(socket, httpErrors.noTunnel, logger, 'CONNECT', { allow: '' })
    count(requests, httpErrors.noTunnel)
  }

function count(requests: AnswerCounts, definition: ErrorDefinition): void {
  requests.answered(undefined, 'other', STATUS[definition.kind])
  requests.refused(undefined, definition)
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
  const body = jsonLine(failure(new AppError(definition), id))
  const headers = {
    ...commonHeaders(id),
    ...more,
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${PHRASES[status]}\r\n${lines.join('')}\r\n${body}`)
  lingerBeforeDestroy(socket)
  logger.info(
    { requestId: id, status, errorCode: definition.code, reason, address: socket.remoteAddress },
    'broken request',
  )
}
