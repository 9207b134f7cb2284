import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { buildApp } from '#src/app.ts'
import { partOfThread } from '#src/config/thread-config.ts'
import { systemClockOf } from '#src/lib/clock.ts'
import { createThreadLog } from '#src/lib/log/logger.ts'
import { createMetrics } from '#src/lib/metrics/metrics.ts'
import { systemRandom } from '#src/lib/random.ts'
import { describeEventLoop } from '#src/ops/process-metrics.ts'
import { describeThread } from '#src/ops/service-metrics.ts'
import { startTraces } from '#src/ops/traces.ts'
import { joinStore } from '#src/store/open-store.ts'
import { closeApp } from './close-app.ts'
import { listenAt } from './listen.ts'
import type { FromThread, ThreadData, ToThread } from './thread-messages.ts'

/** Takes requests as the main thread does, on the same port and the same store. */
async function run(
  send: (message: FromThread, transfer?: MessagePort[]) => void,
  { loaded, traceVariables, host, port, clockOrigin, allowances, commits }: ThreadData,
): Promise<(message: ToThread) => void> {
  const config = partOfThread(loaded.config)
  // The main thread has logged the same about the start.
  let pass = (_lines: string): void => undefined
  const { logger, writeInfo, handOver } = createThreadLog(config.logLevel, (lines) => pass(lines))
  const clock = systemClockOf(clockOrigin)
  const metrics = createMetrics()
  const traces = traceVariables && (await startTraces(traceVariables, logger, clock))
  const store = joinStore(config, commits, (port) => send({ type: 'join', port }, [port]))
  const app = await buildApp({
    config,
    loaded,
    background: false,
    allowances,
    store,
    clock,
    random: systemRandom,
    metrics,
    logger,
    writeInfo,
    traces,
  })
  describeThread(metrics, { deliveries: store.deliveries, server: app.server })
  describeEventLoop(metrics)
  await listenAt(app, { host, port, reusePort: true, backlog: config.maxConnections })
  handOver()
  pass = (lines) => send({ type: 'log', lines })
  process.on('uncaughtExceptionMonitor', handOver)

  const stop = async (milliseconds: number): Promise<void> => {
    await closeApp(app, milliseconds)
    await traces?.stop(milliseconds)
    await store.close()
    handOver()
    send({ type: 'stopped' })
  }
  return async (message) => {
    if (message.type === 'leave') app.readiness.leave()
    else if (message.type === 'reload') app.tls?.reload()
    else if (message.type === 'sample') send({ type: 'samples', samples: await metrics.ofThread() })
    else if (message.type === 'hand-over') {
      handOver()
      send({ type: 'handed-over' })
      // Answers nothing more that the log would not have: the process ends now.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    } else await stop(message.milliseconds)
  }
}

if (parentPort) {
  const port = parentPort
  const obey = await run((message, transfer) => port.postMessage(message, transfer ?? []), workerData)
  port.on('message', obey)
  port.postMessage({ type: 'ready' } satisfies FromThread)
}
