import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Clock, isoMilliseconds } from '#src/lib/clock.ts'
import type { Reservation } from '../body/budget.ts'
import { noteAnswered, statusOfBroken } from '../connections/broken-request.ts'
import { clientAddress } from '../request-head.ts'
import type { RequestMetrics } from './request-metrics.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The action under which the metrics count refusals of this route, and the audit log records them. Without it they are not recorded. */
    readonly refusedAs?: `${string}.refused`
  }
  interface FastifyRequest {
    /** The client's address, kept because a closed connection no longer has one. */
    address: string
    /** When its headers had arrived, by the monotonic clock. */
    startedAt: number
    /** For the log line: the customer, the error code, and a reason that the caller does not get. */
    customerId: string | null
    errorCode: string | null
    refusal: string | null
    /** The memory of the body; released when the request ends. */
    bodyReservation: Reservation | null
    /** Whether the answer is an event stream, which lasts as long as its reader wants. */
    isStream: boolean
    /** For the log line, as JSON with a comma before it; empty without traces. */
    traceFields: string
  }
}

/** Logs and counts each request, with the route's pattern instead of the URL, which may hold a secret. */
export function installRequestLog(
  app: FastifyInstance,
  clock: Clock,
  requests: RequestMetrics,
  writeInfo: (line: string) => void,
): void {
  app.decorateRequest('address', '')
  app.decorateRequest('startedAt', 0)
  app.decorateRequest('customerId', null)
  app.decorateRequest('errorCode', null)
  app.decorateRequest('refusal', null)
  app.decorateRequest('bodyReservation', null)
  app.decorateRequest('isStream', false)
  app.decorateRequest('traceFields', '')

  app.addHook('onRoute', ({ url, method, schema = {}, config }) => {
    // Files of the API reference page have none.
    if (!('operationId' in schema)) return
    for (const name of [method].flat()) requests.expect(url, name, config?.refusedAs)
  })
  app.onRefusal(({ raw, routeOptions }, { code }) => {
    const isGone = raw.readableAborted || raw.socket.destroyed
    if (!isGone) requests.refused(routeOptions.config.refusedAs, code)
  })

  app.addHook('onRequest', (request, reply, done) => {
    request.address = clientAddress(request)
    request.startedAt = clock.monotonic()
    // "close" comes after the answer, and also if the client disconnects before it.
    reply.raw.on('close', () => {
      const milliseconds = clock.monotonic() - request.startedAt
      const route = request.routeOptions.url
      writeInfo(requestLine(request, reply, route, milliseconds, isoMilliseconds(clock.now())))
      const { headersSent, statusCode } = reply.raw
      requests.answered(
        route,
        request.method,
        headersSent ? statusCode : (statusOfBroken(request.raw) ?? 0),
        request.isStream ? undefined : milliseconds,
      )
      noteAnswered(request.raw)
      request.bodyReservation?.release()
      request.answerReservation?.release()
    })
    done()
  })
}

/** Built by hand, because every delivery pays for it. Only the request id and the reason can need escaping. */
function requestLine(
  request: FastifyRequest,
  reply: FastifyReply,
  route: string | undefined,
  milliseconds: number,
  time: string,
): string {
  const { method, address, customerId, errorCode, refusal } = request
  const aborted = reply.raw.writableEnded ? '' : ',"aborted":true'
  const reason = refusal === null ? '' : `,"reason":${JSON.stringify(refusal)}`
  return `{"level":30,"time":"${time}","requestId":${escaped(request.id)},"method":"${method}","route":${quoted(route ?? null)},"status":${reply.statusCode},"durationMs":${milliseconds.toFixed(2)},"customerId":${quoted(customerId)},"errorCode":${quoted(errorCode)}${reason}${aborted},"address":"${address}"${request.traceFields},"msg":"request"}\n`
}

/** An id that the client chose is all of visible ASCII. */
const escaped = (id: string): string => (/["\\]/.test(id) ? JSON.stringify(id) : quoted(id))

const quoted = (text: string | null): string => (text === null ? 'null' : `"${text}"`)
