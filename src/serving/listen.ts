import { lookup } from 'node:dns/promises'
import type { AddressInfo } from 'node:net'
import type { App } from '#src/app.ts'
import type { Config } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'

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
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'EADDRINUSE' ? 'the port is in use; set PORT to another one' : message
    throw new AppError(
      { code: 'CANNOT_LISTEN', kind: 'unavailable', message: `cannot listen on ${host}:${port}: ${why}` },
      { cause: error },
    )
  }
}
