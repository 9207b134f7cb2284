import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Clock, isoMilliseconds } from '#src/lib/clock.ts'
import { noteAnswered } from './broken-request.ts'
import { clientAddress } from './client-address.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** For the log line: who it was, how it was refused, and why in words the caller does not get. */
    customerId: string | null
    errorCode: string | null
    refusal: string | null
  }
}

/** One line a request. Never the address asked for, which may hold a secret: the route's pattern instead. */
export function installRequestLog(app: FastifyInstance, clock: Clock, writeInfo: (line: string) => void): void {
  app.decorateRequest('customerId', null)
  app.decorateRequest('errorCode', null)
  app.decorateRequest('refusal', null)

  app.addHook('onRequest', (request, reply, done) => {
    // Read now: a connection that was cut off has no address any more.
    const address = clientAddress(request)
    const start = clock.monotonic()
    // "close" comes after the answer, and also when the client went away and there is none.
    reply.raw.on('close', () => {
      const milliseconds = clock.monotonic() - start
      writeInfo(requestLine(request, reply, { address, milliseconds, time: isoMilliseconds(clock.now()) }))
      noteAnswered(request.raw)
    })
    done()
  })
}

/** Put together by hand: every delivery pays for it. Only the request id and the reason can need escaping. */
function requestLine(
  request: FastifyRequest,
  reply: FastifyReply,
  { address, milliseconds, time }: { address: string; milliseconds: number; time: string },
): string {
  const { method, customerId, errorCode, refusal } = request
  const route = request.routeOptions.url ?? null
  const duration = Math.round(milliseconds * 100) / 100
  const aborted = reply.raw.writableEnded ? '' : ',"aborted":true'
  const reason = refusal === null ? '' : `,"reason":${JSON.stringify(refusal)}`
  return `{"level":30,"time":"${time}","requestId":${JSON.stringify(request.id)},"method":"${method}","route":${quoted(route)},"status":${reply.statusCode},"durationMs":${duration},"customerId":${quoted(customerId)},"errorCode":${quoted(errorCode)}${reason}${aborted},"address":"${address}","msg":"request"}\n`
}

const quoted = (text: string | null): string => (text === null ? 'null' : `"${text}"`)
