import { setFlagsFromString } from 'node:v8'
import { type App, buildApp } from '#src/app.ts'
import type { RunningServer } from '#src/cli/command.ts'
import type { Config, LoadedConfig, Variables } from '#src/config/load-config.ts'
import { systemClock } from '#src/lib/clock.ts'
import { createLog, type Prettify } from '#src/lib/log/logger.ts'
import { prettyLines } from '#src/lib/log/pretty-log.ts'
import { createMetrics } from '#src/lib/metrics.ts'
import { systemRandom } from '#src/lib/random.ts'
import { VERSION } from '#src/lib/version.ts'
import { buildOps, listenForOps, type Ops } from '#src/ops/ops.ts'
import type { AwaitedStore } from '#src/store/await-store.ts'
import { isMissing } from '#src/store/open-store.ts'
import { listen, reach } from './serving/listen.ts'
import { type HasEnded, whenNpmEnds } from './serving/npm.ts'
import { createStopping, type Exit, type Stopping, type StoppingOptions, stopOnSignals } from './serving/stopping.ts'

/** Listens, waits for a store that is missing, and stops on a signal. */
export async function startServer(
  loaded: LoadedConfig,
  awaited: AwaitedStore,
  exit: Exit,
  traceVariables: Variables | undefined,
  hasStarterEnded: HasEnded | undefined,
): Promise<RunningServer> {
  const { config } = loaded
  const { store } = awaited
  const { logger, writeInfo, flush, flushNow } = createLog(config.logLevel, prettifier(config))
  logger.info({ version: VERSION, node: process.version }, 'teslim starts')
  for (const note of loaded.notes) logger.info(note)
  process.prependListener('exit', flushNow)
  process.on('unhandledRejection', (error) => {
    logger.fatal({ err: error }, 'unhandled rejection')
    exit(1)
  })
  const metrics = createMetrics()
  const clock = systemClock
  const traces =
    traceVariables && (await (await import('#src/ops/traces.ts')).startTraces(traceVariables, logger, clock))
  const app = await buildApp({
    loaded,
    store,
    missing: awaited.missing,
    clock,
    random: systemRandom,
    metrics,
    logger,
    writeInfo,
    traces,
  })
  const checkReady = async (): Promise<void> => {
    const reason = awaited.reason()
    // For operators only: it may name a path.
    if (reason !== undefined) throw new Error(reason)
    await app.readiness.check()
  }
  const ops = config.opsPort > 0 ? buildOps({ config, store, clock, metrics, app, checkReady }) : undefined
  const { host, port, opsUrl } = await listenOnBoth(app, ops, config)
  // Else V8 may decide, by how the first requests went, to put a part of each later one among its long-lived objects:
  // two starts in five then had a quarter less throughput and twice the p99 (docs/performance-log.md). Not earlier: with
  // another flag V8 rejects all code that was compiled before, that of Node's modules, too.
  setFlagsFromString('--no-allocation-site-pretenuring')
  const { url, curlOptions } = reach(app, host, port)
  if (opsUrl !== undefined) logger.info(`metrics at ${opsUrl}/metrics`)

  const options: StoppingOptions = {
    app,
    config,
    exit,
    async flush(milliseconds) {
      await ops?.close()
      await traces?.stop(milliseconds)
      await flush()
    },
  }
  const stopping = createStopping(options)
  const { stop, fail, stopped, begun } = stopping
  stopOnSignals(options, stopping)
  whenNpmEnds(hasStarterEnded, () => void stop('npm has ended'))
  const opened = await untilOpen(app, awaited, stopping)
  const inform = (message: string): void => logger.info(message)
  const warn = (message: string): void => logger.warn(message)
  // Writes these lines before the caller prints its greeting.
  await flush()
  return { url, curlOptions, opened, inform, warn, fail, stop, isStopping: () => begun.aborted, stopped }
}

/** Waits for a store that is missing. Resolves to undefined if the server is told to stop before. */
async function untilOpen({ log, readiness }: App, awaited: AwaitedStore, { stop, begun }: Stopping) {
  const missing = awaited.reason()
  const since = systemClock.monotonic()
  if (missing !== undefined) {
    if (isMissing(awaited.missing)) log.error({ reason: missing }, 'no store: requests get 503 until there is one')
    else log.error({ reason: missing }, 'no room to open the store: requests get 503 until there is')
  }
  try {
    const found = await awaited.opened(begun, (reason) => log.warn({ reason }, 'still not open'))
    if (missing !== undefined && found !== undefined) {
      await readiness.open()
      log.info({ seconds: Math.round((systemClock.monotonic() - since) / 1000) }, 'the store is open')
    }
    return found
  } catch (error) {
    await stop('the start failed', 1)
    throw error
  }
}

/** Chooses readable lines on a terminal outside production, unless the setting says otherwise. */
function prettifier({ log, environment }: Config): Prettify | undefined {
  const { stdout } = process
  const pretty = log === 'pretty' || (log === 'auto' && stdout.isTTY && environment !== 'production')
  // hasColors heeds NO_COLOR.
  return pretty ? prettyLines(stdout.isTTY && stdout.hasColors()) : undefined
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
