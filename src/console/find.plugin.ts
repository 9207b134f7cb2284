import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import { actionRoute } from '#src/http/body/action-route.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { naming } from '#src/lib/display-name.ts'
import { looksSecret } from '#src/lib/looks-secret.ts'
import { message } from '#src/lib/messages/message.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { createFind } from './find.rule.ts'
import { FindSchema, MatchesSchema } from './find.schema.ts'

const plugin: PluginWith<'store'> = async (app, { store }) => {
  const find = createFind(store)
  const named = naming(store.customers.names)

  const routes: FastifyPluginAsyncTypebox = async (scope) => {
    scope.post('/Operator/find', {
      ...actionRoute('Operator', 'find', {
        summary: 'Find what a text names',
        description: 'For one search box: recognises receipts, orders, customers, API keys, requests and refusals.',
        errors: [],
        body: FindSchema,
        answer: successSchema(MatchesSchema, 'What was found'),
      }),
      handler: async ({ access, body: { Text } }) => {
        if (looksSecret(Text)) throw invalidRequest([{ path: '/Text', message: message('SECRET_NOT_SEARCHED') }])
        const matches = await find(Text)
        // Requests are found in the audit log.
        const shown = matches.filter(({ kind }) => kind !== 'request' || access.rights.has('read'))
        const answers = shown.map(({ kind, id, customerId, text, refusedOnly }) => ({
          Kind: kind,
          ID: id,
          CustomerID: customerId,
          Text: text,
          ...(refusedOnly && { RefusedOnly: true }),
        }))
        return success({ Matches: await named(answers) })
      },
    })
  }

  app.register(app.needs('operate')(routes))
}

export const findPlugin = fastifyPlugin(plugin, { name: 'find', dependencies: ['token'], encapsulate: true })
