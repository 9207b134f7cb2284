import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import type { LoadedConfig } from '#src/config/load-config.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import { STATUS } from '#src/http/error-handler.ts'
import type { RequestMetrics } from '#src/http/request-log.ts'
import type { Clock } from '#src/lib/clock.ts'
import { createRecentLatency, type RecentLatency } from '../recent-latency.ts'
import { examineInThread } from './doctor-thread.ts'
import { createExaminer } from './examiner.ts'
import { OperatorHealthSchema } from './health.schema.ts'
import { healthAnswer, withBehind } from './health-answer.ts'
import { createMinutes } from './minutes.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Of deliveries to this process. */
    deliveryLatency: RecentLatency
  }
}

interface ConsoleHealthOptions {
  readonly loaded: LoadedConfig
  readonly clock: Clock
  readonly requests: RequestMetrics
}

const SAMPLE_MILLISECONDS = 10_000
const DELIVERY_ROUTE = '/Purchase/update'

const plugin: FastifyPluginAsyncTypebox<ConsoleHealthOptions> = async (app, { loaded, clock, requests }) => {
  const durations = requests.durationsOf(DELIVERY_ROUTE)
  let failures = 0
  app.onRefusal(({ routeOptions, errorCode }, { kind }, part) => {
    // The end of an upload is no delivery: it has no part, and is not the answer to the request.
    const isDelivery =
      routeOptions.config.refusedAs === 'delivery.refused' && (part !== undefined || errorCode !== null)
    if (isDelivery && STATUS[kind] >= 500) failures++
  })
  const latency = createRecentLatency(durations, () => failures, clock)
  const readDelays = app.loopDelay.reader()
  const minutes = createMinutes(
    {
      totals: requests.totals,
      durations,
      cpuMilliseconds() {
        const { user, system } = process.cpuUsage()
        return (user + system) / 1000
      },
      eventLoopP99Ms() {
        const delays = readDelays()
        return delays === undefined ? null : Math.round(delays.p99 * 10) / 10
      },
      rssBytes: () => process.memoryUsage.rss(),
    },
    clock,
  )
  const examiner = createExaminer({
    begin: () => examineInThread(loaded),
    clock,
    wait: (milliseconds, signal) => wait(milliseconds, undefined, { signal, ref: false }).catch(() => undefined),
  })
  const startedAt = clock.now() - process.uptime() * 1000
  const timer = setInterval(() => {
    latency.sample()
    minutes.sample()
  }, SAMPLE_MILLISECONDS).unref()
  app.decorate('deliveryLatency', latency)
  // The server would wait for the answers of those who wait for checks.
  app.addHook('preClose', async () => examiner.close())
  app.addHook('onClose', async () => {
    clearInterval(timer)
    examiner.close()
  })

  const schema = {
    summary: 'How the service is doing',
    operationId: 'operatorHealth',
    description:
      'For operators. What teslim doctor finds on the machine of this process, and what the process did in the last hour. The checks run at most once in 30 seconds, and end after 10 seconds: the answer then names the check that was under way.',
    tags: ['Operator'],
    response: { 200: successSchema(OperatorHealthSchema, 'Checks and minutes') },
  }
  const routes: FastifyPluginAsyncTypebox = async (app) => {
    app.get('/Operator/health', { schema }, async () =>
      success(
        healthAnswer(
          loaded.config,
          startedAt,
          withBehind(await examiner.report(), app.refusalsBehind()),
          minutes.list(),
        ),
      ),
    )
  }
  app.register(app.needs('operate', 'read')(routes))
}

export const consoleHealthPlugin = fastifyPlugin(plugin, { name: 'console-health', dependencies: ['token', 'audit'] })
