import { isatty } from 'node:tty'
import { type App, buildApp } from '#src/app.ts'
import type { RunningServer } from '#src/cli/command.ts'
import type { Config, LoadedConfig, Variables } from '#src/config/load-config.ts'
import { partOfThread } from '#src/config/thread-config.ts'
import { newSharedBuckets } from '#src/lib/buckets.ts'
import { systemClock, threadOrigin } from '#src/lib/clock.ts'
import { createLog, type Prettify, type ServiceLog } from '#src/lib/log/logger.ts'
import { prettyLines } from '#src/lib/log/pretty-log.ts'
import { createMetrics } from '#src/lib/metrics/metrics.ts'
import { systemRandom } from '#src/lib/random.ts'
import { reachableHost, urlHost } from '#src/lib/reachable-host.ts'
import { VERSION } from '#src/lib/version.ts'
import { buildOps, listenForOps, type Ops } from '#src/ops/ops.ts'
import type { OpenedStore } from '#src/store/open-store.ts'
import { closeApp } from './serving/close-app.ts'
import { type HttpThreads, type HttpThreadsOptions, NO_THREADS, startHttpThreads } from './serving/http-threads.ts'
import { cannotStart, listen } from './serving/listen.ts'

type Exit = (status: number) => void

/** Listens, and stops on a signal. `exitNow` ends the process at once. */
export async function startServer(
  loaded: LoadedConfig,
  { store, share }: OpenedStore,
  exitNow: Exit,
  traceVariables: Variables | undefined,
): Promise<RunningServer> {
  const { config } = loaded
  const log = createLog(config.logLevel, prettifier(config))
  const { logger, writeInfo, flush, flushNow } = log
  let threads = NO_THREADS
  const exit: Exit = (status) => {
    if (threads === NO_THREADS) exitNow(status)
    else void threads.handOverLog().finally(() => exitNow(status))
  }
  logger.info({ version: VERSION, node: process.version }, 'teslim starts')
  process.prependListener('exit', flushNow)
  process.on('unhandledRejection', (error) => {
    logger.fatal({ err: error }, 'unhandled rejection')
    exit(1)
  })
  const metrics = createMetrics()
  const clock = systemClock
  const allowances = config.httpThreads > 1 ? newSharedBuckets() : undefined
  const traces =
    traceVariables && (await (await import('#src/ops/traces.ts')).startTraces(traceVariables, logger, clock))
  const app = await buildApp({
    config: partOfThread(config),
    loaded,
    background: true,
    allowances,
    store,
    clock,
    random: systemRandom,
    metrics,
    logger,
    writeInfo,
    traces,
  })
  const checkReady = app.readiness.check
  const ops =
    config.opsPort > 0
      ? buildOps({
          config,
          store,
          clock,
          metrics,
          otherThreads: () => threads.samples(),
          server: app.server,
          checkReady,
        })
      : undefined
  const { host, port, opsUrl } = await listenOnBoth(app, ops, config)
  const data = { loaded, traceVariables, host, port, clockOrigin: threadOrigin(), allowances }
  threads = startThreads(config, share, data, log, exit)
  const { url, curlOptions } = reach(app, host, port)
  if (opsUrl !== undefined) logger.info(`metrics at ${opsUrl}/metrics`)

  const { stop, stopped, atLeast, isStopping } = ending(app, threads, config, exit, async (milliseconds) => {
    await ops?.close()
    await traces?.stop(milliseconds)
    await flush()
  })
  onFirstSignal((signal) => leave(app, threads, config, stop, signal), exit)
  onHangUp(app, threads, stop)
  await threads.ready.catch(async (error: unknown) => {
    await stop('the start failed', 1)
    throw cannotStart(host, port, error)
  })
  if (config.httpThreads > 1 && !isStopping()) logger.info(`${config.httpThreads} threads take requests`)
  const fail = (reason: string): void => {
    logger.fatal({ reason }, 'the store is no longer the one that was opened, or its disk failed: this server ends')
    atLeast(1)
    setTimeout(stop, FAILING_MILLISECONDS, 'store gone').unref()
  }
  const inform = (message: string): void => logger.info(message)
  const warn = (message: string): void => logger.warn(message)
  // Writes these lines before the caller prints its greeting.
  await flush()
  return { url, curlOptions, inform, warn, fail, stop, isStopping, stopped }
}

function startThreads(
  { httpThreads }: Config,
  share: OpenedStore['share'],
  data: HttpThreadsOptions['data'],
  { logger, write }: ServiceLog,
  exit: Exit,
): HttpThreads {
  if (httpThreads === 1 || share === null) return NO_THREADS
  const onDeath = (cause: string): void => {
    logger.fatal({ reason: cause }, 'a thread that takes requests has died: this server ends')
    exit(1)
  }
  return startHttpThreads({ count: httpThreads - 1, data, share, write, onDeath })
}

/** Chooses readable lines on a terminal outside production, unless the setting says otherwise. */
function prettifier({ log, environment }: Config): Prettify | undefined {
  const { stdout } = process
  const pretty = log === 'pretty' || (log === 'auto' && stdout.isTTY && environment !== 'production')
  // hasColors heeds NO_COLOR.
  return pretty ? prettyLines(stdout.isTTY && stdout.hasColors()) : undefined
}

/** How long callers and `/readyz` get the reason before connections end. */
const FAILING_MILLISECONDS = 500

/** Ends the server once, for the first reason given, with the highest exit status given. */
function ending(
  app: App,
  threads: HttpThreads,
  { shutdownSeconds: seconds }: Config,
  exit: Exit,
  flush: (milliseconds: number) => Promise<void>,
) {
  const { promise: stopped, resolve } = Promise.withResolvers<number>()
  let begun = false
  let exitStatus = 0

  const close = async (reason: string): Promise<number> => {
    app.log.info({ reason }, 'stopping: no new connections; finishing requests in flight')
    // Time reserved for writing what is queued and closing the store.
    const toClose = Math.min(seconds / 2, Math.max(seconds / 10, 1))
    setTimeout(() => exit(1), seconds * 1000).unref()
    const patience = (seconds - toClose) * 1000
    await Promise.all([closeApp(app, patience), threads.stop(patience)])
    app.log.info('stopped')
    await flush((toClose / 2) * 1000)
    return exitStatus
  }

  const atLeast = (status: number): void => {
    exitStatus = Math.max(exitStatus, status)
  }

  const stop = (reason: string, status = 0): Promise<number> => {
    atLeast(status)
    if (!begun) resolve(close(reason))
    begun = true
    return stopped
  }
  return { stop, stopped, atLeast, isStopping: () => begun }
}

/** Stops at once, or after SIGTERM when balancers have had the time to see that `/readyz` fails. */
function leave(
  app: App,
  threads: HttpThreads,
  { readyDelaySeconds }: Config,
  stop: RunningServer['stop'],
  signal: NodeJS.Signals,
): void {
  if (signal !== 'SIGTERM' || readyDelaySeconds === 0) {
    void stop(signal)
    return
  }
  app.readiness.leave()
  threads.leave()
  app.log.info({ reason: signal }, `/readyz fails from now on; stopping in ${readyDelaySeconds} s`)
  setTimeout(stop, readyDelaySeconds * 1000, signal).unref()
}

/** The terminal and `npm start` each send SIGINT on one Ctrl+C: both count as one signal. */
const SAME_SIGNAL_MILLISECONDS = 100

/** A second signal ends the process at once. */
function onFirstSignal(stop: (signal: NodeJS.Signals) => void, exit: Exit): void {
  let firstAt: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = systemClock.monotonic()
    if (firstAt === undefined) {
      firstAt = now
      stop(signal)
    } else if (signal !== 'SIGINT' || now - firstAt > SAME_SIGNAL_MILLISECONDS) {
      exit(1)
    }
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

/** SIGHUP means that the server's terminal was closed; without a terminal, that the certificate should be read again. */
function onHangUp(app: App, threads: HttpThreads, stop: RunningServer['stop']): void {
  const onTerminal = [0, 1, 2].some(isatty)
  process.on('SIGHUP', () => {
    if (onTerminal) void stop('SIGHUP')
    else if (app.tls) {
      app.tls.reload()
      threads.reloadCertificate()
    } else app.log.info('SIGHUP: there is no certificate to read again, TESLIM_TLS_CERT is not set')
  })
}

/** Listens for monitoring first, so that a start that fails there never served. */
async function listenOnBoth(app: App, ops: Ops | undefined, config: Config) {
  try {
    const opsUrl = ops && (await listenForOps(ops, config, app.log))
    const { address: host, port } = await listen(app, config)
    return { host, port, opsUrl }
  } catch (error) {
    await ops?.close()
    throw error
  }
}

/** How this machine reaches the server. */
function reach({ tls }: App, address: string, port: number) {
  const host = reachableHost(address)
  return tls?.reach(host, port) ?? { url: `http://${urlHost(host)}:${port}`, curlOptions: '' }
}
