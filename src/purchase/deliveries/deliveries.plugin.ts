import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { keepUncompressed } from '#src/http/answers/read-answers.ts'
import { success, successSchema } from '#src/http/envelope.ts'
import { queryReading, withPeriod } from '#src/http/query-reading.ts'
import type { Random } from '#src/lib/random.ts'
import type { Store } from '#src/store/store.ts'
import { callerOf } from '../caller.ts'
import { createCursors } from '../cursors.ts'
import { itemAnswer, orderAnswer } from '../delivery-answer.ts'
import { createDeliveryReader } from '../delivery-body.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { createDeliveryList } from './deliveries.rule.ts'
import {
  DEFAULT_LIMIT,
  DeliveriesQuerySchema,
  DeliveriesSchema,
  SupplierDeliveriesQuerySchema,
  SupplierDeliveriesSchema,
} from './deliveries.schema.ts'

export interface DeliveryListOptions {
  readonly config: Config
  readonly store: Store
  readonly random: Random
}

const plugin: FastifyPluginAsyncTypebox<DeliveryListOptions> = async (app, { config, store, random }) => {
  const { list } = createDeliveryList({
    deliveries: store.deliveries,
    customers: store.customers,
    cursors: createCursors(store.secrets, random),
    productsOf: createDeliveryReader(config).products,
  })

  const supplierRoutes: FastifyPluginAsyncTypebox = async (app) => {
    const schema = {
      summary: 'List deliveries, by API key',
      operationId: 'supplierDeliveries',
      description:
        'What was delivered with the API keys of the customer, newest first, duplicates included. Unknown parameters are refused.',
      tags: ['Supplier'],
      errors: [purchaseErrors.cursorInvalid],
      querystring: SupplierDeliveriesQuerySchema,
      response: { 200: successSchema(SupplierDeliveriesSchema, 'The deliveries') },
    }
    app.get('/Supplier/deliveries', {
      schema,
      preValidation: queryReading(SupplierDeliveriesQuerySchema),
      handler: async ({ query, supplier: { customer } }) => {
        const { deliveries, nextCursor } = await list(
          'supplier',
          { operator: false, customer },
          { limit: DEFAULT_LIMIT, ...withPeriod(query) },
        )
        const items = deliveries.map((each) => ({ ...itemAnswer(each), ...orderAnswer(each) }))
        return success({ Deliveries: items, NextCursor: nextCursor })
      },
    })
  }

  const routes: FastifyPluginAsyncTypebox = async (app) => {
    const schema = {
      summary: 'List deliveries',
      operationId: 'purchaseDeliveries',
      description:
        'What was delivered, newest first, duplicates included: for operators that of all customers. Deliveries of orders with one id come by customer, if an operator names no customer. Unknown parameters are refused.',
      tags: ['Purchase'],
      errors: [purchaseErrors.cursorInvalid, customerErrors.notFound],
      querystring: DeliveriesQuerySchema,
      response: { 200: successSchema(DeliveriesSchema, 'The deliveries') },
    }
    app.get('/Purchase/deliveries', {
      schema,
      preValidation: queryReading(DeliveriesQuerySchema),
      handler: async (request, reply) => {
        const caller = callerOf(request)
        const { deliveries, nextCursor } = await list('deliveries', caller, {
          limit: DEFAULT_LIMIT,
          ...withPeriod(request.query),
        })
        if (caller.operator && request.query.customer === undefined) keepUncompressed(reply)
        const items = deliveries.map((each) => ({
          ...itemAnswer(each),
          ...orderAnswer(each),
          CustomerID: each.customerId,
        }))
        return success({ Deliveries: items, NextCursor: nextCursor })
      },
    })
  }

  app.register(app.suppliersOnly(supplierRoutes))
  app.register(app.authenticated(routes))
}

export const deliveriesPlugin = fastifyPlugin(plugin, {
  name: 'deliveries',
  dependencies: ['token', 'suppliers'],
  encapsulate: true,
})
