import { lookup } from 'node:dns/promises'
import type { AddressInfo } from 'node:net'
import type { App } from '#src/app.ts'
import type { Config } from '#src/config/load-config.ts'
import { cannotListen } from '#src/lib/net/cannot-listen.ts'

/** Listens on one address only: for a name with two, Fastify would open a second server without our limits. */
export async function listen(app: App, { host, port, maxConnections }: Config): Promise<AddressInfo> {
  try {
    const { address } = await lookup(host, { order: 'ipv4first' })
    await app.listen({
      host: address,
      port,
      backlog: maxConnections,
      listenTextResolver: (url: string) => `listening on ${url}`,
    })
    return app.server.address() as AddressInfo
  } catch (error) {
    throw cannotListen(error, `${host}:${port}`, 'PORT')
  }
}
