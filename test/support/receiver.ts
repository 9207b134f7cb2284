import { createServer, type IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { listenAllowed } from './allowed-ports.ts'
import { atTheEnd } from './at-the-end.ts'

export interface Received {
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A back office that writes down what is sent to it, and answers as it is told. */
export async function startReceiver() {
  const received: Received[] = []
  const answer = { status: 200, body: 'thank you' }
  const server = createServer(async (request, response) => {
    const { url, headers } = request
    received.push({ url, headers, body: await text(request) })
    response.writeHead(answer.status).end(answer.body)
  })
  const port = await listenAllowed(server)
  atTheEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  const tests = () => received.filter(({ body }) => body.includes('teslim.test'))
  const lastTest = (): Received => {
    const found = tests().at(-1)
    if (found === undefined) throw new Error('no test was received')
    return found
  }
  return { received, tests, lastTest, url: `http://127.0.0.1:${port}/hook`, answer }
}
