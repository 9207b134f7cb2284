import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Stands between a client and a server, and can stop passing anything on without a word, as a network does that is cut. */
export interface StallingProxy {
  readonly port: number
  /** New connections are taken and lead nowhere. */
  stall(): void
  /** As an address that leads to another machine from now on: new connections work, those of before get no word. */
  forget(): void
  /** Connections of before are reset, as by a network that has forgotten them. */
  resume(): void
  close(): void
}

export async function startStallingProxy(targetPort: number): Promise<StallingProxy> {
  const pairs = new Set<readonly [Socket, Socket | undefined]>()
  const forgotten = new Set<Socket>()
  let stalled = false

  const server = createServer((client) => {
    const target = stalled ? undefined : connect(targetPort, '127.0.0.1')
    const pair = [client, target] as const
    pairs.add(pair)
    client
      .on('error', () => undefined)
      .on('close', () => {
        target?.destroy()
        pairs.delete(pair)
      })
    if (target === undefined) {
      client.pause()
      return
    }
    target
      .on('error', () => undefined)
      .on('close', () => {
        if (!forgotten.has(client) && !stalled) client.destroy()
      })
    client.on('data', (chunk) => target.write(chunk))
    target.on('data', (chunk) => client.write(chunk))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    forget() {
      for (const [client, target] of pairs) {
        forgotten.add(client)
        client.pause()
        target?.destroy()
      }
    },
    stall() {
      stalled = true
      for (const [client, target] of pairs) {
        client.pause()
        target?.pause()
      }
    },
    resume() {
      stalled = false
      for (const [client] of pairs) client.resetAndDestroy()
    },
    close() {
      server.close()
      for (const [client] of pairs) client.destroy()
    },
  }
}
