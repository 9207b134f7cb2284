import type { FastifyInstance } from 'fastify'
import { AppError } from '#src/lib/app-error.ts'
import { httpErrors } from './http.errors.ts'
import { commonHeaders } from './response-headers.ts'

/** What happens to every request before a byte of its body is read. */
export function installRequestHooks(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(commonHeaders(request.id))
    const hosts = hostCount(request.raw.rawHeaders)
    if (hosts > 1 || (hosts === 0 && request.raw.httpVersion === '1.1')) throw new AppError(httpErrors.hostCount)
    const encoding = request.headers['content-encoding']
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw new AppError(httpErrors.contentEncoding)
    const { expect } = request.headers
    if (expect !== undefined && expect.toLowerCase() !== '100-continue') throw new AppError(httpErrors.expectation)
    done()
  })

  // Node would answer an unknown expectation by itself, with 417 and no body.
  app.server.on('checkExpectation', (request, response) => void app.routing(request, response))
}

/** Node keeps the first Host header and says nothing of a second. Names stand at even places. */
function hostCount(rawHeaders: readonly string[]): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]
    if (name?.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}
