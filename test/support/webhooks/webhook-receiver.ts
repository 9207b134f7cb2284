import { createHmac } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import { atTheEnd } from '../at-the-end.ts'
import { messageViolation } from '../docs/contract.ts'
import { listenAllowed } from '../network/allowed-ports.ts'
import { pace, until } from '../until.ts'

/** One request as it arrived, complete. */
export interface Received {
  readonly url: string | undefined
  readonly id: string
  readonly order: string | undefined
  readonly body: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** On the clock that never jumps. */
  readonly at: number
}

/** What the endpoint does with a request. */
export type Behaviour = (received: Received, response: ServerResponse) => void

export const accept: Behaviour = (_received, response) => void response.end()
export const refuse: Behaviour = (_received, response) => void response.writeHead(500).end('no')
/** Answers as it is told at the time. */
export const answering =
  (answer: { readonly status: number; readonly body: string }): Behaviour =>
  (_received, response) =>
    void response.writeHead(answer.status).end(answer.body)
export const hang: Behaviour = () => undefined
/** Announces more than it sends. */
export const closeHalfWay: Behaviour = (_received, response) => {
  response.writeHead(200, { 'content-length': 1000 })
  response.write('part', () => response.destroy())
}
export const acceptAfter =
  (milliseconds: number): Behaviour =>
  (_received, response) =>
    void pace(milliseconds).then(() => response.end())

export interface Receiver {
  readonly url: string
  /** In the order of arrival. */
  readonly received: Received[]
  behave: Behaviour
  /** The tests among them. */
  tests(): Received[]
  lastTest(): Received
  /** Waits until so many different deliveries have arrived. */
  arrived(count: number, milliseconds?: number): Promise<void>
  /** Requests that were not answered yet. */
  open(): number
}

/** An endpoint of a back office. */
export async function startReceiver(behave: Behaviour = accept): Promise<Receiver> {
  let open = 0
  const ids = new Set<string>()
  const server = createServer((request, response) => {
    open++
    response.on('close', () => open--)
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => undefined)
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const { url, headers } = request
      const id = String(headers['webhook-id'])
      const order = /"OrderID":"([^"]*)"/.exec(body)?.[1]
      const received = { url, id, order, body, headers, at: performance.now() }
      receiver.received.push(received)
      ids.add(id)
      receiver.behave(received, response)
    })
  })
  const port = await listenAllowed(server)
  atTheEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    received: [],
    behave,
    tests: () => receiver.received.filter(({ body }) => body.includes('teslim.test')),
    lastTest() {
      const found = receiver.tests().at(-1)
      if (found === undefined) throw new Error('no test was received')
      return found
    },
    arrived: (count, milliseconds = 15_000) =>
      until(`${count} deliveries have arrived`, () => ids.size >= count, { milliseconds }),
    open: () => open,
  }
  return receiver
}

/** The ids of each order as they arrived first, without repeats. */
export function firstArrivals(received: readonly Received[]): Map<string, string[]> {
  const orders = new Map<string, Set<string>>()
  for (const { order = '', id } of received) orders.set(order, (orders.get(order) ?? new Set()).add(id))
  return new Map(Array.from(orders, ([order, ids]) => [order, [...ids]]))
}

/** What is wrong with the messages by openapi.yaml. */
export const violations = (received: readonly Received[]): string[] =>
  received.flatMap(({ body, headers }) => messageViolation(JSON.parse(body), headers) ?? [])

/** Ids that came with different bytes: a repeat must be one. */
export function changedRepeats(received: readonly Received[]): string[] {
  const bodies = new Map<string, string>()
  return received.flatMap(({ id, body }) => {
    const before = bodies.get(id) ?? body
    bodies.set(id, before)
    return before === body ? [] : [id]
  })
}

/** What a secret signs a message with. */
export function signatureOf(secret: string, headers: Received['headers'], body: string): string {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  return `v1,${createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(signed)
    .digest('base64')}`
}

/** How often each id came, of those that came more than once. */
export function repeats(received: readonly Received[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { id } of received) counts.set(id, (counts.get(id) ?? 0) + 1)
  return new Map([...counts].filter(([, count]) => count > 1))
}
