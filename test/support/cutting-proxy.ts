import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'

/** Stands between a client and a server for one connection, and records what the server answered. */
export interface CuttingProxy {
  readonly url: string
  /** Everything that came from the server. */
  recorded(): string
  /** Resolves once the connection has ended, on both sides. */
  readonly ended: Promise<void>
}

/** Resets both sides when so many bytes have come from the client, or from the server. */
export async function startCuttingProxy(
  target: string,
  cut: { readonly sent: number; readonly answered: number },
): Promise<CuttingProxy> {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const pieces: Buffer[] = []
  const server = createServer((client) => {
    server.close()
    const upstream = connect(Number(new URL(target).port), '127.0.0.1')
    let sent = 0
    let answered = 0
    const end = (): void => {
      client.resetAndDestroy()
      upstream.resetAndDestroy()
      resolve()
    }
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end)
    client.on('data', (piece: Buffer) => {
      sent += piece.length
      // The cut may leave half of a line at the server.
      const passed = piece.subarray(0, Math.max(0, piece.length - Math.max(0, sent - cut.sent)))
      if (!upstream.write(passed)) {
        client.pause()
        upstream.once('drain', () => client.resume())
      }
      if (sent >= cut.sent) end()
    })
    upstream.on('data', (piece: Buffer) => {
      pieces.push(piece)
      answered += piece.length
      client.write(piece)
      if (answered >= cut.answered) end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    recorded: () => Buffer.concat(pieces).toString(),
    ended,
  }
}
