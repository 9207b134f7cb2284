import fastifyPlugin from 'fastify-plugin'
import type { PluginWith } from '#src/http/parts.ts'
import { AppError } from '#src/lib/app-error.ts'
import { customerErrors } from './customer.errors.ts'
import { findCustomer } from './find-customer.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Returns the id of a customer, named by id or e-mail address; throws CUSTOMER_NOT_FOUND. For operators' routes. */
    customerIdOf: (who: string) => Promise<string>
  }
}

const plugin: PluginWith<'store'> = async (app, { store }) => {
  app.decorate('customerIdOf', async (who: string) => {
    const found = await findCustomer(store.customers, who)
    if (found === undefined) throw new AppError(customerErrors.notFound)
    return found.id
  })
}

export const customerIdsPlugin = fastifyPlugin(plugin, { name: 'customer-ids' })
