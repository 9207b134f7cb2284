import type { AddressInfo } from 'node:net'
import type { CliContext, RunningServer } from '#src/cli/command.ts'
import { runCli } from '#src/cli/run-cli.ts'
import { readEnvFile } from '#src/config/env-file.ts'
import { type Config, loadConfig } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import { systemClock } from '#src/lib/clock.ts'
import { createLog } from '#src/lib/logger.ts'
import { systemRandom } from '#src/lib/random.ts'
import type { Store } from '#src/store/store.ts'

const context: CliContext = {
  stdin: process.stdin,
  clock: systemClock,
  random: systemRandom,
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(`${text}\n`),
  loadConfig: () => loadConfig(process.env, readEnvFile('.env')),
  startServer,
}

async function startServer(config: Config, store: Store): Promise<RunningServer> {
  // Loaded here because the other commands start in half the time without it.
  const { buildApp } = await import('#src/app.ts')
  const { logger, writeInfo, flush } = createLog(config.logLevel)
  process.on('exit', flush)
  process.on('unhandledRejection', (error) => {
    logger.fatal({ err: error }, 'unhandled rejection')
    process.exit(1)
  })
  const app = await buildApp({ config, store, clock: systemClock, random: systemRandom, logger, writeInfo })
  const { host, port } = config
  const listening = { host, port, listenTextResolver: (address: string) => `listening on ${address}` }
  await app.listen(listening).catch((cause: NodeJS.ErrnoException) => {
    throw cannotListen(config, cause)
  })
  const url = `http://${reachableHost(host)}:${(app.server.address() as AddressInfo).port}`

  const stopped = untilSignal().then(async (signal) => {
    logger.info({ signal }, 'stopping: no new connections, requests in flight finish')
    const cutOff = setTimeout(() => {
      logger.warn('requests still in flight are cut off')
      app.server.closeAllConnections()
    }, config.shutdownSeconds * 900)
    setTimeout(() => process.exit(1), config.shutdownSeconds * 1000).unref()
    // A connection that is kept after its last answer would hold the end up until it times out.
    const idle = setInterval(() => app.server.closeIdleConnections(), 50)
    await app.close()
    clearInterval(idle)
    clearTimeout(cutOff)
    logger.info('stopped')
    return 0
  })
  return { url, warn: (message) => logger.warn(message), stopped }
}

/** `npm start` passes a terminal's Ctrl-C on to a process that the terminal has told already: that is one signal. */
const SAME_SIGNAL_MILLISECONDS = 100

function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first: { signal: NodeJS.Signals; at: number } | undefined
    const onSignal = (signal: NodeJS.Signals): void => {
      const now = performance.now()
      if (first === undefined) {
        first = { signal, at: now }
        resolve(signal)
      } else if (signal !== 'SIGINT' || now - first.at > SAME_SIGNAL_MILLISECONDS) {
        process.exit(1)
      }
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  })
}

function cannotListen({ host, port }: Config, cause: NodeJS.ErrnoException): AppError {
  const why = cause.code === 'EADDRINUSE' ? 'the port is in use; set PORT to another one' : cause.message
  const message = `cannot listen on ${host}:${port}: ${why}`
  return new AppError({ code: 'CANNOT_LISTEN', kind: 'unavailable', message }, { cause })
}

const reachableHost = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

// A reader that has seen enough, such as `| head`, is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

process.exitCode = await runCli(process.argv.slice(2), context)
