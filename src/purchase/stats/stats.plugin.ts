import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import { failures, success, successSchema } from '#src/http/envelope.ts'
import { invalidRequest } from '#src/http/error-handler.ts'
import { queryReading } from '#src/http/query-reading.ts'
import type { Clock } from '#src/lib/clock.ts'
import { readTime } from '#src/lib/time/read-time.ts'
import type { Store } from '#src/store/store.ts'
import { callerOf } from '../caller.ts'
import { createRollUps } from './roll-ups.ts'
import { createStats } from './stats.rule.ts'
import { StatsQuerySchema, StatsSchema } from './stats.schema.ts'
import { statsAnswer } from './stats-answer.ts'

export interface StatsOptions {
  readonly store: Store
  readonly clock: Clock
}

const plugin: FastifyPluginAsyncTypebox<StatsOptions> = async (app, { store, clock }) => {
  const { rollUps, customers } = store
  const readStats = createStats({ rollUps, customers, clock })
  const counting = createRollUps({
    rollUps,
    clock,
    onFailed: (error) => app.log.warn({ err: error }, 'deliveries could not be counted by hour'),
  })
  app.readiness.onceOpen(() => counting.start())
  app.addHook('preClose', () => counting.stop())

  const routes: FastifyPluginAsyncTypebox = async (app) => {
    const stats = {
      summary: 'Deliveries and refusals by hour or day',
      operationId: 'purchaseStats',
      tags: ['Purchase'],
      errors: ['RANGE_INVALID', 'CUSTOMER_NOT_FOUND'],
      description:
        'Counts for charts: of the caller, for operators of all customers together. They include deliveries that were removed since because of their age. Unknown parameters are refused.',
      querystring: StatsQuerySchema,
      response: { 200: successSchema(StatsSchema, 'The counts'), ...failures(400, 401, 404, 500, 503) },
    }
    app.get('/Purchase/stats', {
      schema: stats,
      preValidation: queryReading(StatsQuerySchema),
      handler: async (request) => {
        const { from, to, by = 'hour', customer } = request.query
        const query = { customer, by, from: timeOf('from', from), to: timeOf('to', to) }
        return success(statsAnswer(await readStats(callerOf(request), query)))
      },
    })
  }

  app.register(app.authenticated(routes))
}

function timeOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = readTime(text)
  if (time !== undefined) return time
  throw invalidRequest([
    { path: `query/${name}`, message: 'must be a time with its zone, such as 2026-11-21T09:00:00Z, or a day' },
  ])
}

export const statsPlugin = fastifyPlugin(plugin, { name: 'stats', dependencies: ['token'], encapsulate: true })
