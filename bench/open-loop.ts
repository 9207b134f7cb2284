import { connect, type Socket } from 'node:net'
import { OTHER_FIELDS } from './load.ts'

export interface OpenLoopOptions {
  readonly url: string
  readonly apiKey: string
  /** Requests begun each second, whatever becomes of those before. */
  readonly perSecond: number
  readonly seconds: number
  /** Beyond these nothing more is sent; that counts as `unsent`. */
  readonly mostConnections: number
}

export interface OpenLoopResult {
  readonly sent: number
  readonly unsent: number
  /** How often each status was answered; 0 is no answer at all. */
  readonly statuses: Map<number, number>
  /** Milliseconds to the answer, in order, of what was taken and of what was refused. */
  readonly taken: number[]
  readonly refused: number[]
  readonly acknowledged: { readonly receipt: string; readonly order: string; readonly body: string }[]
}

interface Client {
  readonly socket: Socket
  order: string
  body: string
  since: number
  answer: string
}

const TICK_MILLISECONDS = 5
/** For the answers that are missing when the last request has been sent. */
const PATIENCE_MILLISECONDS = 20_000

/** Sends deliveries at a fixed rate, each over a connection that has no other under way, opened where there is none. */
export async function openLoop(options: OpenLoopOptions): Promise<OpenLoopResult> {
  const { url, apiKey, perSecond, seconds, mostConnections } = options
  const { port, hostname } = new URL(url)
  const statuses = new Map<number, number>()
  const result: OpenLoopResult = { sent: 0, unsent: 0, statuses, taken: [], refused: [], acknowledged: [] }
  const counts = result as { sent: number; unsent: number }
  const idle: Client[] = []
  const clients = new Set<Client>()
  const run = Date.now().toString(36)

  const answered = (client: Client, status: number): void => {
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    const took = performance.now() - client.since
    const { order, body } = client
    if (status === 200) {
      result.taken.push(took)
      const receipt = /"ReceiptID":"([^"]+)"/.exec(client.answer)?.[1] ?? ''
      result.acknowledged.push({ receipt, order, body })
    } else result.refused.push(took)
    client.body = ''
  }

  const open = (): Client => {
    const socket = connect(Number(port), hostname)
    const client: Client = { socket, order: '', body: '', since: 0, answer: '' }
    clients.add(client)
    socket.setNoDelay(true)
    socket.on('data', (chunk) => {
      client.answer += chunk.toString('latin1')
      const head = client.answer.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(client.answer)?.[1])
      if (head < 0 || client.answer.length < head + 4 + length || client.body === '') return
      answered(client, Number(client.answer.slice(9, 12)))
      if (/\r\nconnection: close/i.test(client.answer)) socket.end()
      else idle.push(client)
      client.answer = ''
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clients.delete(client)
      const index = idle.indexOf(client)
      if (index >= 0) idle.splice(index, 1)
      if (client.body !== '') answered(client, 0)
    })
    return client
  }

  const send = (): void => {
    const client = idle.pop() ?? (clients.size < mostConnections ? open() : undefined)
    if (client === undefined) {
      counts.unsent++
      return
    }
    client.order = `${run}-${counts.sent++}`
    client.body = `{"OrderID":"${client.order}","Status":1${OTHER_FIELDS}`
    client.since = performance.now()
    const head = `POST /Purchase/update HTTP/1.1\r\nHost: ${hostname}\r\nApiKey: ${apiKey}\r\nContent-Length: ${Buffer.byteLength(client.body)}\r\n\r\n`
    client.socket.write(head + client.body)
  }

  const start = performance.now()
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const elapsed = performance.now() - start
      const due = Math.min(elapsed / 1000, seconds) * perSecond
      while (counts.sent + counts.unsent < due) send()
      if (elapsed < seconds * 1000) return
      clearInterval(timer)
      resolve()
    }, TICK_MILLISECONDS)
  })
  const last = performance.now()
  while ([...clients].some(({ body }) => body !== '') && performance.now() - last < PATIENCE_MILLISECONDS) {
    await new Promise((resolve) => setTimeout(resolve, TICK_MILLISECONDS))
  }
  for (const { socket } of clients) socket.destroy()
  return result
}

/** Accepts the numbers in any order. */
export function percentile(numbers: readonly number[], percent: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN
}
