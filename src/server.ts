import { lookup } from 'node:dns/promises'
import type { AddressInfo } from 'node:net'
import { isatty } from 'node:tty'
import { type App, buildApp } from '#src/app.ts'
import type { RunningServer } from '#src/cli/command.ts'
import type { Config } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import { systemClock } from '#src/lib/clock.ts'
import { createLog } from '#src/lib/logger.ts'
import { systemRandom } from '#src/lib/random.ts'
import { reachableHost, urlHost } from '#src/lib/reachable-host.ts'
import type { Store } from '#src/store/store.ts'

type Exit = (status: number) => void

/** Listens, and stops on a signal. `exit` ends the process at once, whatever is under way. */
export async function startServer(config: Config, store: Store, exit: Exit): Promise<RunningServer> {
  const { logger, writeInfo, flush, flushNow } = createLog(config.logLevel)
  process.prependListener('exit', flushNow)
  process.on('unhandledRejection', (error) => {
    logger.fatal({ err: error }, 'unhandled rejection')
    exit(1)
  })
  const app = await buildApp({ config, store, clock: systemClock, random: systemRandom, logger, writeInfo })
  const { address: host, port } = await listenOn(app, config)
  const { url, curlOptions } = reach(app, host, port)

  const { promise: signalled, resolve: signal } = Promise.withResolvers<string>()
  onFirstSignal(signal, exit)
  onHangUp(app, signal)
  const stopped = signalled.then(async (reason) => {
    logger.info({ signal: reason }, 'stopping: no new connections, requests in flight finish')
    const { shutdownSeconds: seconds } = config
    // To write down what is left and close the store.
    const toClose = Math.min(seconds / 2, Math.max(seconds / 10, 1))
    const cutOff = setTimeout(
      () => {
        logger.warn('requests still in flight are cut off')
        app.tls?.cutOff()
        app.server.closeAllConnections()
      },
      (seconds - toClose) * 1000,
    )
    setTimeout(() => exit(1), seconds * 1000).unref()
    // A connection that is kept after its last answer would hold the end up until it times out.
    const idle = setInterval(() => app.server.closeIdleConnections(), 50)
    await app.close()
    clearInterval(idle)
    clearTimeout(cutOff)
    logger.info('stopped')
    await flush()
    return 0
  })
  const stop = (): Promise<number> => {
    signal('none')
    return stopped
  }
  return { url, curlOptions, warn: (message) => logger.warn(message), stop, stopped }
}

/** `npm start` passes a terminal's Ctrl-C on to a process that the terminal has told already: that is one signal. */
const SAME_SIGNAL_MILLISECONDS = 100

/** A second signal ends the process at once. */
function onFirstSignal(then: (signal: string) => void, exit: Exit): void {
  let firstAt: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = systemClock.monotonic()
    if (firstAt === undefined) {
      firstAt = now
      then(signal)
    } else if (signal !== 'SIGINT' || now - firstAt > SAME_SIGNAL_MILLISECONDS) {
      exit(1)
    }
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

/** The end of the terminal that the server was started on, else a request to read the certificate anew. */
function onHangUp(app: App, stop: (signal: string) => void): void {
  const onTerminal = [0, 1, 2].some(isatty)
  process.on('SIGHUP', () => {
    if (onTerminal) stop('SIGHUP')
    else if (app.tls) app.tls.reload()
    else app.log.info('SIGHUP: there is no certificate to read anew, TESLIM_TLS_CERT is not set')
  })
}

/** On one address only: given a name with two, Fastify would open a second server that no limit and no end reaches. */
async function listenOn(app: App, { host, port }: Config): Promise<AddressInfo> {
  try {
    const { address } = await lookup(host, { order: 'ipv4first' })
    await app.listen({ host: address, port, listenTextResolver: (url) => `listening on ${url}` })
    return app.server.address() as AddressInfo
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'EADDRINUSE' ? 'the port is in use; set PORT to another one' : message
    const cannotListen = {
      code: 'CANNOT_LISTEN',
      kind: 'unavailable',
      message: `cannot listen on ${host}:${port}: ${why}`,
    } as const
    throw new AppError(cannotListen, { cause: error })
  }
}

/** How this machine reaches it. */
function reach({ tls }: App, address: string, port: number) {
  const host = reachableHost(address)
  return tls?.reach(host, port) ?? { url: `http://${urlHost(host)}:${port}`, curlOptions: '' }
}
