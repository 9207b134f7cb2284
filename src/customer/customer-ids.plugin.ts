import type { FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { AppError } from '#src/lib/app-error.ts'
import type { CustomerStore } from '#src/store/store.ts'
import { customerErrors } from './customer.errors.ts'
import { findCustomer } from './find-customer.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Returns the id of a customer, named by id or e-mail address; throws CUSTOMER_NOT_FOUND. For operators' routes. */
    customerIdOf: (who: string) => Promise<string>
  }
}

const plugin: FastifyPluginAsync<{ readonly customers: CustomerStore }> = async (app, { customers }) => {
  app.decorate('customerIdOf', async (who: string) => {
    const found = await findCustomer(customers, who)
    if (found === undefined) throw new AppError(customerErrors.notFound)
    return found.id
  })
}

export const customerIdsPlugin = fastifyPlugin(plugin, { name: 'customer-ids' })
