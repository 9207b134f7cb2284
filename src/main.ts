import { lookup } from 'node:dns/promises'
import type { AddressInfo } from 'node:net'
import { isatty } from 'node:tty'
import type { App } from '#src/app.ts'
import { cliActor } from '#src/cli/actor.ts'
import type { CliContext, RunningServer } from '#src/cli/command.ts'
import { runCli } from '#src/cli/run-cli.ts'
import { readEnvFile } from '#src/config/env-file.ts'
import { type Config, loadConfig } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import { systemClock } from '#src/lib/clock.ts'
import { createLog } from '#src/lib/logger.ts'
import { systemRandom } from '#src/lib/random.ts'
import { reachableHost, urlHost } from '#src/lib/reachable-host.ts'
import type { Store } from '#src/store/store.ts'

const context: CliContext = {
  stdin: process.stdin,
  clock: systemClock,
  random: systemRandom,
  columns: process.stdout.columns,
  actor: () => cliActor(process.env.SUDO_USER),
  out: (text) => void process.stdout.write(`${text}\n`),
  outBytes: (bytes) => void process.stdout.write(bytes),
  err: (text) => void process.stderr.write(`${text}\n`),
  progress: (text) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
  },
  loadConfig: () => loadConfig(process.env, readEnvFile('.env')),
  startServer,
}

async function startServer(config: Config, store: Store): Promise<RunningServer> {
  // Loaded here because the other commands start in half the time without it.
  const { buildApp } = await import('#src/app.ts')
  const { logger, writeInfo, flush, flushNow } = createLog(config.logLevel)
  process.prependListener('exit', flushNow)
  process.on('unhandledRejection', (error) => {
    logger.fatal({ err: error }, 'unhandled rejection')
    process.exit(1)
  })
  const app = await buildApp({ config, store, clock: systemClock, random: systemRandom, logger, writeInfo })
  const { address: host, port } = await listenOn(app, config)
  const { url, curlOptions } = reach(app, host, port)

  let status = 0
  const { promise: signalled, resolve: signal } = Promise.withResolvers<string>()
  onFirstSignal(signal)
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
    setTimeout(() => process.exit(1), seconds * 1000).unref()
    // A connection that is kept after its last answer would hold the end up until it times out.
    const idle = setInterval(() => app.server.closeIdleConnections(), 50)
    await app.close()
    clearInterval(idle)
    clearTimeout(cutOff)
    logger.info('stopped')
    await flush()
    return status
  })
  const stop = (): Promise<number> => {
    signal('none')
    return stopped
  }
  const fail = (reason: string): void => {
    logger.fatal({ reason }, 'the store is no longer the one that was opened: this server ends, start it again')
    status = 1
    setTimeout(signal, FAILING_MILLISECONDS, 'store gone').unref()
  }
  return { url, curlOptions, warn: (message) => logger.warn(message), fail, stop, stopped }
}

/** Callers and `/readyz` are told for as long, before connections end. */
const FAILING_MILLISECONDS = 500

/** `npm start` passes a terminal's Ctrl-C on to a process that the terminal has told already: that is one signal. */
const SAME_SIGNAL_MILLISECONDS = 100

/** A second signal ends the process at once. */
function onFirstSignal(then: (signal: string) => void): void {
  let firstAt: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = systemClock.monotonic()
    if (firstAt === undefined) {
      firstAt = now
      then(signal)
    } else if (signal !== 'SIGINT' || now - firstAt > SAME_SIGNAL_MILLISECONDS) {
      process.exit(1)
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

// What could not be printed may have been a password that is shown once: never an exit status of 0.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') context.err(`teslim: stdout cannot be written (${code})`)
  process.exit(1)
})

process.exitCode = await runCli(process.argv.slice(2), context)
