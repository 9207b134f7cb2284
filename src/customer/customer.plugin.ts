import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import { tagAnswer } from '#src/http/answers/read-answers.ts'
import { failures, success, successSchema } from '#src/http/envelope.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { VersionWatch } from '#src/lib/version-watch.ts'
import type { Store } from '#src/store/store.ts'
import { type Accounts, createAccounts } from './accounts.ts'
import { CustomerSchema } from './customer.schema.ts'
import { createKeyUses, type KeyUses } from './key-uses.ts'

declare module 'fastify' {
  interface FastifyInstance {
    accounts: Accounts
    keyUses: KeyUses
  }
}

export interface CustomerOptions {
  readonly store: Store
  readonly versions: VersionWatch
  readonly clock: Clock
}

const plugin: FastifyPluginAsyncTypebox<CustomerOptions> = async (app, { store, versions, clock }) => {
  const keyUses = createKeyUses(store.apiKeys, clock, (error) =>
    app.log.warn({ err: error }, 'the last use of keys could not be written'),
  )
  app.decorate('accounts', createAccounts(store.apiKeys, versions, clock))
  app.decorate('keyUses', keyUses)
  app.addHook('onClose', () => keyUses.flush())
  app.register(app.authenticated(routes))
}

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const schema = {
    summary: 'Who am I?',
    operationId: 'customerGet',
    description: 'The customer of the token, with its regions and authority rules.',
    tags: ['Customer'],
    response: {
      200: successSchema(CustomerSchema, 'The customer that the token belongs to'),
      ...failures(401, 500, 503),
    },
  }
  app.get('/Customer/Get', { schema }, async ({ access }, reply) => {
    tagAnswer(reply)
    const { customer, region, scope, seesAll } = access
    return success({
      CustomerID: customer.id,
      Email: customer.email,
      IsAPI: customer.isApi,
      IsOperator: seesAll,
      IsReadOnly: scope === 'operator:read',
      Region: region,
      Regions: [...customer.regions],
      AuthorityRules: [...customer.authority],
    })
  })
}

export const customerPlugin = fastifyPlugin(plugin, { name: 'customer', dependencies: ['token'] })
