import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { systemClock } from '#src/lib/clock.ts'
import { createSender, type Sender, type SenderOptions, type Sending } from '#src/webhook/send/sender.ts'
import { allowedAt, listenAllowed } from '../../support/network/allowed-ports.ts'
import type { Made } from '../../support/network/certificate.ts'

export interface Received {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface Receiver {
  readonly port: number
  /** Open connections. */
  readonly sockets: Set<Socket>
  /** Connections so far. */
  connections(): number
}

/** Listens on a loopback address until the test is over, and then ends what is still open. */
export async function listen(server: Server, address?: string, port?: number): Promise<Receiver> {
  const sockets = new Set<Socket>()
  let count = 0
  server.on('connection', (socket: Socket) => {
    count += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  if (port === undefined) await listenAllowed(server, address)
  else await once(server.listen(port, address), 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return { port: (server.address() as AddressInfo).port, sockets, connections: () => count }
}

/** A server of HTTP, or HTTPS with a certificate, that keeps what it receives. */
export async function receive(
  answer: RequestListener = (_request, response) => response.end('ok'),
  {
    certificate,
    address,
    port,
  }: { readonly certificate?: Made; readonly address?: string; readonly port?: number } = {},
): Promise<Receiver & { readonly received: Received[] }> {
  const received: Received[] = []
  const listener: RequestListener = async (request, response) => {
    const { method, url, headers } = request
    received.push({ method, url, headers, body: await text(request) })
    await answer(request, response)
  }
  const server = certificate
    ? createSecureServer({ cert: certificate.certificate, key: certificate.key }, listener)
    : createServer(listener)
  return { ...(await listen(server, address, port)), received }
}

/** A server that answers with exactly these bytes, or whatever the function does with the connection and what it read. */
export const answerRaw = (onData: (socket: Socket, data: string) => void): Promise<Receiver> =>
  listen(createTcpServer((socket) => socket.on('data', (chunk) => onData(socket, chunk.toString('latin1')))))

export const sending = (url: string, more: Partial<Sending> = {}): Sending => ({
  url,
  ca: null,
  headers: { 'content-type': 'application/json', 'webhook-id': 'msg_1' },
  body: Buffer.from('{"type":"teslim.test"}'),
  ...more,
})

/** A sender that may reach this machine, and is closed when the test is over. */
export function sender(options: Partial<SenderOptions> = {}): Sender {
  const made = createSender({ allow: allowedAt('127.0.0.1', '::1', 'localhost'), clock: systemClock, ...options })
  onTestFinished(() => made.close())
  return made
}
