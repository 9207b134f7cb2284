import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import { exportable } from '#src/http/answers/exports.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { customerErrors } from '../customer.errors.ts'
import { createSilence } from '../silence/silence.rule.ts'
import { customerAnswer, operatorKeyAnswer } from './answers.ts'
import { createDirectory, type Directory } from './directory.rule.ts'
import {
  CustomerParamsSchema,
  CustomersQuerySchema,
  CustomersSchema,
  CustomerWithKeysSchema,
  DEFAULT_LIMIT,
  MAX_IDS,
} from './operators.schema.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Shows operators the customers. */
    directory: Directory
  }
}

const plugin: PluginWith<'config' | 'store' | 'clock'> = async (app, { config, store, clock }) => {
  const silence = createSilence(store, config, clock)
  const directory = createDirectory(store, silence, clock, config.environment === 'production')
  app.decorate('directory', directory)

  const routes: FastifyPluginAsyncTypebox = async (scope) => {
    const list = exportable({
      summary: 'List customers',
      operationId: 'operatorCustomers',
      description: 'All customers, or those that are searched for. Unknown parameters are refused.',
      tags: ['Operator'],
      querystring: CustomersQuerySchema,
      response: { 200: successSchema(CustomersSchema, 'The customers') },
    })
    scope.get('/Operator/customers', {
      schema: list,
      handler: async (request, reply) => {
        const { ids, enabled, limit = DEFAULT_LIMIT, ...query } = request.query
        if (ids !== undefined) {
          const customers = await directory.listOf(readIds(ids, { ...query, enabled }))
          const all = { Customers: customers.map(customerAnswer), NextCursor: null }
          return app.answerList(request, reply, async () => all)
        }
        const wanted = { ...query, enabled: enabled === undefined ? undefined : enabled === 'true', limit }
        return app.answerList(request, reply, async (place) => {
          const { customers, nextCursor } = await directory.list({ ...wanted, ...place })
          return { Customers: customers.map(customerAnswer), NextCursor: nextCursor }
        })
      },
    })

    const one = {
      summary: 'One customer and its API keys',
      operationId: 'operatorCustomer',
      description: 'Never the keys themselves.',
      tags: ['Operator'],
      errors: [customerErrors.notFound],
      params: CustomerParamsSchema,
      response: {
        200: successSchema(CustomerWithKeysSchema, 'The customer'),
      },
    }
    scope.get('/Operator/customer/:customerId', { schema: one }, async ({ params }) => {
      const { described, keys } = await directory.showWithKeys(params.customerId)
      return success({
        Customer: customerAnswer(described),
        Keys: keys.map((key) => operatorKeyAnswer(key, config.rateLimit)),
      })
    })
  }

  app.register(app.needs('operate')(routes))
}

function readIds(text: string, others: Readonly<Record<string, unknown>>): string[] {
  const [other] = Object.keys(others).filter((name) => others[name] !== undefined)
  if (other !== undefined) throw invalidRequest([{ path: `query/${other}`, message: 'cannot be combined with ids' }])
  const ids = text.split(',', MAX_IDS + 1).map((id) => id.trim())
  if (ids.length > MAX_IDS) throw invalidRequest([{ path: 'query/ids', message: `must be at most ${MAX_IDS} ids` }])
  return ids
}

export const operatorReadsPlugin = fastifyPlugin(plugin, {
  name: 'operator-reads',
  dependencies: ['token', 'exports'],
})
