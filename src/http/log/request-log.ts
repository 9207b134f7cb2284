import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Clock, isoMilliseconds } from '#src/lib/clock.ts'
import type { HeldBody } from '../body/budget.ts'
import { clientAddress } from '../client-address.ts'
import { noteAnswered } from '../connections/broken-request.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of the client. Kept, because a connection that was cut off has none any more. */
    address: string
    /** For the log line: who it was, how it was refused, and why in words the caller does not get. */
    customerId: string | null
    errorCode: string | null
    refusal: string | null
    /** The share of the body in the budget of all; released with the request. */
    heldBody: HeldBody | null
  }
}

/** One line a request. Never the address asked for, which may hold a secret: the route's pattern instead. */
export function installRequestLog(app: FastifyInstance, clock: Clock, writeInfo: (line: string) => void): void {
  app.decorateRequest('address', '')
  app.decorateRequest('customerId', null)
  app.decorateRequest('errorCode', null)
  app.decorateRequest('refusal', null)
  app.decorateRequest('heldBody', null)

  app.addHook('onRequest', (request, reply, done) => {
    request.address = clientAddress(request)
    const start = clock.monotonic()
    // "close" comes after the answer, and also when the client went away and there is none.
    reply.raw.on('close', () => {
      const milliseconds = clock.monotonic() - start
      writeInfo(requestLine(request, reply, milliseconds, isoMilliseconds(clock.now())))
      noteAnswered(request.raw)
      request.heldBody?.release()
    })
    done()
  })
}

/** Put together by hand: every delivery pays for it. Only the request id and the reason can need escaping. */
function requestLine(request: FastifyRequest, reply: FastifyReply, milliseconds: number, time: string): string {
  const { method, address, customerId, errorCode, refusal } = request
  const route = request.routeOptions.url ?? null
  const aborted = reply.raw.writableEnded ? '' : ',"aborted":true'
  const reason = refusal === null ? '' : `,"reason":${JSON.stringify(refusal)}`
  return `{"level":30,"time":"${time}","requestId":${escaped(request.id)},"method":"${method}","route":${quoted(route)},"status":${reply.statusCode},"durationMs":${milliseconds.toFixed(2)},"customerId":${quoted(customerId)},"errorCode":${quoted(errorCode)}${reason}${aborted},"address":"${address}","msg":"request"}\n`
}

/** An id that the client chose is all of visible ASCII. */
const escaped = (id: string): string => (/["\\]/.test(id) ? JSON.stringify(id) : quoted(id))

const quoted = (text: string | null): string => (text === null ? 'null' : `"${text}"`)
