import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { withPeriod } from '#src/http/validation.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { createRollUps } from './roll-ups.ts'
import { createStats, statsAnswer } from './stats.rule.ts'
import { StatsQuerySchema, StatsSchema } from './stats.schema.ts'

const plugin: PluginWith<'store' | 'clock'> = async (app, { store, clock }) => {
  const { rollUps, customers, deliveries } = store
  const readStats = createStats({ rollUps, customers, clock })
  const counting = createRollUps({ rollUps, deliveries }, clock, (error) =>
    app.log.warn({ err: error }, 'deliveries could not be counted by hour'),
  )
  app.readiness.onceOpen(() => counting.start())
  app.addHook('preClose', () => counting.stop())

  const routes: FastifyPluginAsyncTypebox = async (app) => {
    const stats = {
      summary: 'Deliveries and refusals by hour or day',
      operationId: 'purchaseStats',
      tags: ['Purchase'],
      errors: [purchaseErrors.rangeInvalid, customerErrors.notFound],
      description:
        'Counts for charts: of the caller, for operators of all customers together. They include deliveries that were removed since because of their age. Unknown parameters are refused.',
      querystring: StatsQuerySchema,
      response: { 200: successSchema(StatsSchema, 'The counts') },
    }
    app.get('/Purchase/stats', {
      schema: stats,
      handler: async ({ caller, query }) =>
        success(statsAnswer(await readStats(caller, { by: 'hour', ...withPeriod(query) }))),
    })
  }

  app.register(app.needs('look')(routes))
}

export const statsPlugin = fastifyPlugin(plugin, { name: 'stats', dependencies: ['token'], encapsulate: true })
