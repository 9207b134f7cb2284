import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll } from 'vitest'

/** Stands between a browser and a server, and can break all connections. */
export interface BreakingProxy {
  readonly url: string
  /** Resets all connections; new ones are reset, too. */
  break(): void
  mend(): void
}

/** Ends with the test file. */
export async function startBreakingProxy(target: string): Promise<BreakingProxy> {
  const port = Number(new URL(target).port)
  let broken = false
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    if (broken) return void client.resetAndDestroy()
    const upstream = connect(port, '127.0.0.1')
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      one
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(one)
          other.destroy()
        })
      one.pipe(other)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  afterAll(() => {
    server.close()
    destroyAll()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    break() {
      broken = true
      destroyAll()
    },
    mend() {
      broken = false
    },
  }
}
