import { isatty } from 'node:tty'
import type { App } from '#src/app.ts'
import type { Config } from '#src/config/load-config.ts'
import { systemClock } from '#src/lib/clock.ts'

/** Ends the process at once. */
export type Exit = (status: number) => void

export interface StoppingOptions {
  readonly app: App
  readonly config: Config
  readonly exit: Exit
  /** Sends what monitoring and log still have. */
  readonly flush: (milliseconds: number) => Promise<void>
}

export type Stopping = ReturnType<typeof createStopping>

/** How long callers and `/readyz` get the reason before connections end. */
const FAILING_MILLISECONDS = 500

export function createStopping({ app, config, exit, flush }: StoppingOptions) {
  const { shutdownSeconds: seconds } = config
  const { promise: stopped, resolve } = Promise.withResolvers<number>()
  const begun = new AbortController()
  let exitStatus = 0

  const close = async (reason: string): Promise<number> => {
    app.log.info({ reason }, 'stopping: no new connections; finishing requests in flight')
    // Time reserved for writing what is queued and closing the store.
    const toClose = Math.min(seconds / 2, Math.max(seconds / 10, 1))
    setTimeout(() => exit(1), seconds * 1000).unref()
    await closeApp(app, (seconds - toClose) * 1000)
    app.log.info('stopped')
    await flush((toClose / 2) * 1000)
    return exitStatus
  }

  const stop = (reason: string, status = 0): Promise<number> => {
    exitStatus = Math.max(exitStatus, status)
    if (!begun.signal.aborted) {
      begun.abort()
      resolve(close(reason))
    }
    return stopped
  }

  return {
    /** Ends the server once, for the first reason given, with the highest exit status given; resolves to that. */
    stop,
    /** Logs why the server cannot go on, and stops it with status 1. */
    fail(reason: string) {
      app.log.fatal({ reason }, 'the store is no longer the one that was opened, or its disk failed: this server ends')
      exitStatus = 1
      setTimeout(stop, FAILING_MILLISECONDS, 'store gone').unref()
    },
    stopped,
    /** Aborted when the stop begins. */
    begun: begun.signal,
  }
}

/** Answers requests in flight, takes no new ones, and cuts off what is not answered in time. */
async function closeApp(app: App, milliseconds: number): Promise<void> {
  app.readiness.fail()
  const cutOff = setTimeout(() => {
    app.log.warn('requests still in flight are cut off')
    app.server.closeAllConnections()
  }, milliseconds)
  await app.close()
  clearTimeout(cutOff)
}

/** Stops on the first SIGTERM or SIGINT; the second one ends the process at once. */
export function stopOnSignals({ app, config, exit }: StoppingOptions, { stop }: Stopping): void {
  onFirstSignal((signal) => stopAfterReadyDelay(app, config, stop, signal), exit)
  onHangUp(app, stop)
}

/** Stops at once, or after SIGTERM when balancers have had the time to see that `/readyz` fails. */
function stopAfterReadyDelay(
  app: App,
  { readyDelaySeconds }: Config,
  stop: Stopping['stop'],
  signal: NodeJS.Signals,
): void {
  if (signal !== 'SIGTERM' || readyDelaySeconds === 0 || !app.readiness.isOpen()) {
    void stop(signal)
    return
  }
  app.readiness.fail()
  app.log.info({ reason: signal }, `/readyz fails from now on; stopping in ${readyDelaySeconds} s`)
  setTimeout(stop, readyDelaySeconds * 1000, signal).unref()
}

/** The terminal and `npm start` each send SIGINT on one Ctrl+C: both count as one signal. */
const SAME_SIGNAL_MILLISECONDS = 100

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
function onHangUp(app: App, stop: Stopping['stop']): void {
  const onTerminal = [0, 1, 2].some(isatty)
  process.on('SIGHUP', () => {
    if (onTerminal) void stop('SIGHUP')
    else if (app.tls) app.tls.reload()
    else app.log.info('SIGHUP: there is no certificate to read again, TESLIM_TLS_CERT is not set')
  })
}
