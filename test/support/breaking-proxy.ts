import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { atTheEnd } from './at-the-end.ts'

/** Stands between clients and a server, and can break all connections. */
export interface BreakingProxy {
  readonly url: string
  /** Resets all connections; new ones are reset, too. */
  break(): void
  mend(): void
}

/** Ends with the test, or the test file. The server may come and go: where there is none, connections are reset. */
export async function startBreakingProxy(target: string | (() => string | undefined)): Promise<BreakingProxy> {
  const targetNow = typeof target === 'string' ? () => target : target
  let broken = false
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const server = broken ? undefined : targetNow()
    if (server === undefined) return void client.resetAndDestroy()
    const upstream = connect(Number(new URL(server).port), '127.0.0.1')
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
    for (const socket of sockets) socket.resetAndDestroy()
  }
  atTheEnd(() => {
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
