import { createServer, type ServerResponse } from 'node:http'

/**
 * A back office that takes pushed deliveries and measures how old they are. `GET /` answers what came since the last `GET /`. What is posted
 * to `/picky` is refused if it is of one order, until `GET /heal`.
 */

let delays: number[] = []
let began = performance.now()
let isWell = false
const hanging = new Set<ServerResponse>()

const quantile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0

const server = createServer((request, response) => {
  const { method, url = '' } = request
  if (url === '/heal') {
    isWell = true
    response.end()
    return
  }
  if (method === 'GET') {
    const sorted = delays.toSorted((one, other) => one - other)
    const seconds = (performance.now() - began) / 1000
    const [p50, p99] = [quantile(sorted, 0.5), quantile(sorted, 0.99)]
    delays = []
    began = performance.now()
    response.end(JSON.stringify({ count: sorted.length, perSecond: sorted.length / seconds, p50, p99 }))
    return
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    if (url === '/hang') {
      hanging.add(response)
      return
    }
    if (url === '/fail') {
      response.writeHead(500).end()
      return
    }
    const body = Buffer.concat(chunks).toString('latin1')
    if (url === '/picky' && !isWell && body.includes('"OrderID":"stuck"')) {
      response.writeHead(422).end()
      return
    }
    const receivedAt = /"ReceivedAt":"([^"]+)"/.exec(body)?.[1] ?? ''
    delays.push(Date.now() - Date.parse(receivedAt))
    response.end()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  console.log(`"listening on http://127.0.0.1:${(server.address() as { port: number }).port}"`)
})
