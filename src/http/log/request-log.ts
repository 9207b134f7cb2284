import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Clock, isoMilliseconds } from '#src/lib/clock.ts'
import type { HeldBody } from '../body/budget.ts'
import { clientAddress } from '../client-address.ts'
import { noteAnswered } from '../connections/broken-request.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The client's address, kept because a closed connection no longer has one. */
    address: string
    /** For the log line: the customer, the error code, and a reason that the caller does not get. */
    customerId: string | null
    errorCode: string | null
    refusal: string | null
    /** What the body holds of the shared budget; released when the request ends. */
    heldBody: HeldBody | null
  }
}

/** Logs one line a request, with the route's pattern instead of the URL, which may hold a secret. */
export function installRequestLog(app: FastifyInstance, clock: Clock, writeInfo: (line: string) => void): void {
  app.decorateRequest('address', '')
  app.decorateRequest('customerId', null)
  app.decorateRequest('errorCode', null)
  app.decorateRequest('refusal', null)
  app.decorateRequest('heldBody', null)

  app.addHook('onRequest', (request, reply, done) => {
    request.address = clientAddress(request)
    const start = clock.monotonic()
    // "close" comes after the answer, and also if the client disconnects before it.
    reply.raw.on('close', () => {
      const milliseconds = clock.monotonic() - start
      writeInfo(requestLine(request, reply, milliseconds, isoMilliseconds(clock.now())))
      noteAnswered(request.raw)
      request.heldBody?.release()
    })
    done()
  })
}

/** Built by hand, because every delivery pays for it. Only the request id and the reason can need escaping. */
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
