import type { FastifyInstance } from 'fastify'

/**
 * Answers `Expect: 100-continue` with 100 when the body is about to be read, so not before a refusal by the headers alone. Node
 * would send it before any hook has run.
 */
export function installExpectation(app: FastifyInstance): void {
  app.server.on('checkContinue', (request, response) => {
    const { headers } = request
    const hasBody = Number(headers['content-length']) > 0 || headers['transfer-encoding'] !== undefined
    if (!hasBody) {
      app.routing(request, response)
      return
    }
    const { shouldKeepAlive } = response
    // After a refusal the client may or may not send its body, so the next bytes would be ambiguous.
    response.shouldKeepAlive = false
    request.once('resume', () => {
      if (response.headersSent) return
      response.shouldKeepAlive = shouldKeepAlive
      response.writeContinue()
    })
    app.routing(request, response)
  })

  // Node would answer an unknown expectation with 417 and no body.
  app.server.on('checkExpectation', (request, response) => void app.routing(request, response))
}
