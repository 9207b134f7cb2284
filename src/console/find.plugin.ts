import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import { success, successSchema } from '#src/http/envelope.ts'
import { queryReading } from '#src/http/validation.ts'
import type { Store } from '#src/store/store.ts'
import { createFind } from './find.rule.ts'
import { FindQuerySchema, MatchesSchema } from './find.schema.ts'

const plugin: FastifyPluginAsyncTypebox<{ readonly store: Store }> = async (app, { store }) => {
  const find = createFind(store)

  const routes: FastifyPluginAsyncTypebox = async (scope) => {
    const schema = {
      summary: 'Find what a text names',
      operationId: 'operatorFind',
      description: 'For one search box: recognises receipts, orders, customers, API keys, requests and refusals.',
      tags: ['Operator'],
      querystring: FindQuerySchema,
      response: { 200: successSchema(MatchesSchema, 'What was found') },
    }
    scope.get('/Operator/find', {
      schema,
      preValidation: queryReading(FindQuerySchema),
      handler: async ({ access, query }) => {
        const matches = await find(query.text)
        // Requests are found in the audit log.
        const shown = matches.filter(({ kind }) => kind !== 'request' || access.rights.has('read'))
        const answers = shown.map(({ kind, id, customerId, text, refusedOnly }) => ({
          Kind: kind,
          ID: id,
          CustomerID: customerId,
          Text: text,
          ...(refusedOnly && { RefusedOnly: true }),
        }))
        return success({ Matches: answers })
      },
    })
  }

  app.register(app.needs('operate')(routes))
}

export const findPlugin = fastifyPlugin(plugin, { name: 'find', dependencies: ['token'], encapsulate: true })
