import fastifyPlugin from 'fastify-plugin'
import type { PluginWith } from '#src/http/parts.ts'
import { customerNamed, OPERATOR } from './find-customer.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Returns the id of a customer, named by id or e-mail address; throws CUSTOMER_NOT_FOUND. For operators' routes. */
    customerIdOf: (who: string) => Promise<string>
  }
}

const plugin: PluginWith<'store'> = async (app, { store }) => {
  app.decorate('customerIdOf', (who: string) => customerNamed(OPERATOR, who, store.customers))
}

export const customerIdsPlugin = fastifyPlugin(plugin, { name: 'customer-ids' })
