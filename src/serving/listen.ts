import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { App } from '#src/app.ts'
import type { Config } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'

/** Listens on one address only: for a name with two, Fastify would open a second server without our limits. */
export async function listen(app: App, { host, port, maxConnections, httpThreads }: Config): Promise<AddressInfo> {
  const reusePort = httpThreads > 1
  try {
    const { address } = await lookup(host, { order: 'ipv4first' })
    if (reusePort) await refuseSecondServer(address, port)
    await listenAt(app, { host: address, port, reusePort, backlog: maxConnections })
    return app.server.address() as AddressInfo
  } catch (error) {
    throw cannotListen(host, port, error)
  }
}

/** Fastify passes options on that its types do not know. */
export const listenAt = (app: App, options: ListenOptions): Promise<string> =>
  app.listen({ ...options, listenTextResolver: (url: string) => `listening on ${url}` })

interface ListenOptions {
  readonly host: string
  readonly port: number
  readonly backlog: number
  /** Lets several threads listen on one port. */
  readonly reusePort: boolean
}

export const cannotListen = (host: string, port: number, error: unknown): AppError =>
  new AppError(
    { code: 'CANNOT_LISTEN', kind: 'unavailable', message: `cannot listen on ${host}:${port}: ${whyNot(error)}` },
    { cause: error },
  )

/** What kept a thread from listening beside the main thread. */
export function cannotStart(host: string, port: number, error: unknown): AppError {
  const { syscall, message } = error as NodeJS.ErrnoException
  if (syscall === 'listen' || syscall === 'bind') return cannotListen(host, port, error)
  const definition = {
    code: 'CANNOT_START',
    kind: 'unavailable',
    message: `a thread cannot start: ${message}`,
  } as const
  return new AppError(definition, { cause: error })
}

function whyNot(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return 'the port is in use; set PORT to another one'
  if (code === 'ENOTSUP') return 'this system does not let several threads share a port; set TESLIM_HTTP_THREADS to 1'
  return message
}

/** Where threads share a port, other servers of the same user could, too: the system would divide connections among all of them. */
async function refuseSecondServer(host: string, port: number): Promise<void> {
  const alone = createServer()
  alone.listen({ host, port })
  await once(alone, 'listening')
  alone.close()
  await once(alone, 'close')
}
