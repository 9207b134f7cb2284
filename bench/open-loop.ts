import { connect, type Socket } from 'node:net'
import { type Body, bodiesOf, SHAPES, type Shape } from './shapes.ts'

export interface OpenLoopOptions {
  readonly url: string
  readonly apiKey: string
  /** Requests begun each second, whatever becomes of those before. */
  readonly perSecond: number
  readonly seconds: number
  readonly mostConnections: number
  /**
   * What happens to a request that is due while all connections are busy: it is left out and counts as `unsent`, or it waits for one of
   * them, which are all opened before the first request. Those that still wait at the end are `unsent`, too.
   */
  readonly whenBusy?: 'leave-out' | 'wait'
  readonly shape?: Shape
  /** With `wait`, called once all connections are open and quiet; what it returns is called after the last answer, before they are closed. */
  readonly begin?: () => () => void
}

export interface OpenLoopResult {
  readonly sent: number
  readonly unsent: number
  /** How often each status was answered; 0 is no answer at all. */
  readonly statuses: Map<number, number>
  /** Milliseconds from the time at which a request was due to the answer, in order, of what was taken and of what was refused. */
  readonly taken: number[]
  readonly refused: number[]
  /** Empty with `wait`. */
  readonly acknowledged: { readonly receipt: string; readonly order: string; readonly body: string }[]
}

interface Client {
  readonly socket: Socket
  /** Undefined while it has nothing under way. */
  body: Body | undefined
  due: number
  answer: string
}

const TICK_MILLISECONDS = 1
/** In which the server accepts the connections. */
const OPENING_MILLISECONDS = 200
/** For the answers that are missing when the last request has been sent. */
const PATIENCE_MILLISECONDS = 20_000

/** Sends deliveries at a fixed rate, each over a connection that has no other under way. */
export async function openLoop(options: OpenLoopOptions): Promise<OpenLoopResult> {
  const { url, apiKey, perSecond, seconds, mostConnections, whenBusy = 'leave-out', shape = SHAPES.stream } = options
  let end = (): void => undefined
  const { port, hostname } = new URL(url)
  const waits = whenBusy === 'wait'
  const statuses = new Map<number, number>()
  const result: OpenLoopResult = { sent: 0, unsent: 0, statuses, taken: [], refused: [], acknowledged: [] }
  const counts = result as { sent: number; unsent: number }
  const idle: Client[] = []
  const clients = new Set<Client>()
  const nextBody = bodiesOf(shape, Date.now().toString(36))
  const interval = 1000 / perSecond
  const head = `POST /Purchase/update HTTP/1.1\r\nHost: ${hostname}\r\nApiKey: ${apiKey}\r\nContent-Type: application/json\r\n`
  let start = 0

  const answered = (client: Client, body: Body, status: number): void => {
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    const took = performance.now() - client.due
    if (status !== 200) result.refused.push(took)
    else {
      result.taken.push(took)
      if (!waits) result.acknowledged.push(acknowledgedBy(client.answer, body.text))
    }
    client.body = undefined
  }

  const open = (): Client => {
    const socket = connect(Number(port), hostname)
    const client: Client = { socket, body: undefined, due: 0, answer: '' }
    clients.add(client)
    socket.setNoDelay(true)
    socket.on('data', (chunk) => {
      client.answer += chunk.toString('latin1')
      const { answer, body } = client
      if (body === undefined || !isWhole(answer)) return
      answered(client, body, Number(answer.slice(9, 12)))
      client.answer = ''
      if (/\r\nconnection: close/i.test(answer)) socket.end()
      else if (waits && isDue()) send(client)
      else idle.push(client)
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clients.delete(client)
      const index = idle.indexOf(client)
      if (index >= 0) idle.splice(index, 1)
      if (client.body !== undefined) answered(client, client.body, 0)
    })
    return client
  }

  const isOver = (): boolean => performance.now() - start >= seconds * 1000
  const isDue = (): boolean => !isOver() && (counts.sent + counts.unsent) * interval < performance.now() - start

  const send = (client: Client): void => {
    client.due = start + (counts.sent + counts.unsent) * interval
    client.body = nextBody()
    counts.sent++
    const { text, idempotencyKey } = client.body
    const key = idempotencyKey === undefined ? '' : `Idempotency-Key: ${idempotencyKey}\r\n`
    client.socket.write(`${head}${key}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }

  if (waits) {
    while (clients.size < mostConnections) idle.push(open())
    await new Promise((resolve) => setTimeout(resolve, OPENING_MILLISECONDS))
    if (options.begin) end = options.begin()
  }
  start = performance.now()
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      while (isDue()) {
        const client = idle.pop() ?? (clients.size < mostConnections ? open() : undefined)
        if (client !== undefined) send(client)
        else if (waits) break
        else counts.unsent++
      }
      if (!isOver()) return
      clearInterval(timer)
      counts.unsent = Math.max(counts.unsent, Math.round(perSecond * seconds) - counts.sent)
      resolve()
    }, TICK_MILLISECONDS)
  })
  const last = performance.now()
  while ([...clients].some(({ body }) => body !== undefined) && performance.now() - last < PATIENCE_MILLISECONDS) {
    await new Promise((resolve) => setTimeout(resolve, TICK_MILLISECONDS))
  }
  end()
  for (const { socket } of clients) socket.destroy()
  return result
}

function isWhole(answer: string): boolean {
  const head = answer.indexOf('\r\n\r\n')
  return head >= 0 && answer.length >= head + 4 + Number(/content-length: (\d+)/i.exec(answer)?.[1])
}

const acknowledgedBy = (answer: string, body: string) => ({
  receipt: /"ReceiptID":"([^"]+)"/.exec(answer)?.[1] ?? '',
  order: /"OrderID":"PO-([^"]+)"/.exec(body)?.[1] ?? '',
  body,
})

/** Accepts the numbers in any order. */
export function percentile(numbers: readonly number[], percent: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN
}
