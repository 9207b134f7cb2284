import type { FastifyInstance } from 'fastify'

/**
 * `Expect: 100-continue` is answered with 100 once the body is going to be read, so not before a refusal that the headers
 * alone decide. Node would send it before any hook has run.
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
    // After a refusal the client may send its body or not, so what comes next on the connection has no certain meaning.
    response.shouldKeepAlive = false
    request.once('resume', () => {
      if (response.headersSent) return
      response.shouldKeepAlive = shouldKeepAlive
      response.writeContinue()
    })
    app.routing(request, response)
  })

  // Node would answer an unknown expectation by itself, with 417 and no body.
  app.server.on('checkExpectation', (request, response) => void app.routing(request, response))
}
