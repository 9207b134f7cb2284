import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import { tagAnswer } from '#src/http/answers/read-answers.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import type { Parts, PluginWith } from '#src/http/parts.ts'
import { needsCustomer } from './any-customer.ts'
import { customerErrors } from './customer.errors.ts'
import { CustomerSchema, DEFAULT_KEYS_LIMIT, KeyListSchema, KeysQuerySchema } from './customer.schema.ts'
import { createCustomerKeys } from './customer-keys.rule.ts'
import { keyAnswer } from './key-answer.ts'
import { meAnswer } from './me.ts'

const plugin: PluginWith<'config' | 'store' | 'versions' | 'clock'> = async (app, options) => {
  const { config, store, versions } = options
  if (config.environment === 'production') app.readiness.need(needsCustomer(store.customers, versions))
  app.register(app.needs()(meRoute))
  app.register(app.needs('look')(keyRoutesFor(options)))
}

const meRoute: FastifyPluginAsyncTypebox = async (app) => {
  const schema = {
    summary: 'Who am I?',
    operationId: 'customerGet',
    isTagged: true,
    description: 'The customer of the token, with its regions and authority rules.',
    tags: ['Customer'],
    response: {
      200: successSchema(CustomerSchema, 'The customer that the token belongs to'),
    },
  }
  app.get('/Customer/Get', { schema }, async ({ access }, reply) => {
    tagAnswer(reply)
    return success(meAnswer(access))
  })
}

const keyRoutesFor = ({ config, store, clock }: Pick<Parts, 'config' | 'store' | 'clock'>): FastifyPluginAsyncTypebox =>
  async function keyRoutes(app) {
    const keysOf = createCustomerKeys(store, clock)
    const keys = {
      summary: 'List API keys',
      operationId: 'customerKeys',
      description:
        'The keys with which suppliers deliver for this customer, and what limits them. Never the keys themselves.',
      tags: ['Customer'],
      errors: [customerErrors.notFound],
      querystring: KeysQuerySchema,
      response: { 200: successSchema(KeyListSchema, 'The keys') },
    }
    app.get('/Customer/keys', {
      schema: keys,
      handler: async ({ access, query }) => {
        const { limit = DEFAULT_KEYS_LIMIT, ...rest } = query
        const { keys, nextCursor } = await keysOf(access, { ...rest, limit })
        return success({ Keys: keys.map((key) => keyAnswer(key, config.rateLimit)), NextCursor: nextCursor })
      },
    })
  }

export const customerPlugin = fastifyPlugin(plugin, { name: 'customer', dependencies: ['token'] })
