import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { exportable } from '#src/http/answers/exports.ts'
import { keepUncompressed, tagAnswer } from '#src/http/answers/read-answers.ts'
import { answerRaw, success, successSchema } from '#src/http/envelope.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { withPeriod } from '#src/http/validation.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import { naming } from '#src/lib/display-name.ts'
import { operatorErrors } from '#src/token/operator.errors.ts'
import { itemAnswer, payloadAnswer } from '../delivery-answer.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { createReadBack, type OrderDetail } from './orders.rule.ts'
import {
  DEFAULT_HISTORY_LIMIT,
  DEFAULT_LIST_LIMIT,
  DetailQuerySchema,
  ListQuerySchema,
  OrderDetailSchema,
  OrderListSchema,
  OrderParamsSchema,
} from './orders.schema.ts'

const plugin: PluginWith<'store'> = async (app, { store }) => {
  const { deliveries, purges, customers } = store
  const reads = { deliveries, purges, customers, cursors: app.cursors, productsOf: app.deliveryReader.products }
  const readBack = createReadBack(reads)
  const named = naming(store.customers.names)

  const routes: FastifyPluginAsyncTypebox = async (app) => {
    const list = exportable({
      summary: 'List orders',
      operationId: 'purchaseList',
      isTagged: true,
      tags: ['Purchase'],
      errors: [
        purchaseErrors.cursorInvalid,
        purchaseErrors.cursorPurged,
        customerErrors.notFound,
        operatorErrors.payloads,
      ],
      description:
        'Sorted by order id (for operators by customer, then order id), so that paging shows each order that existed at the start exactly once, whatever comes in meanwhile. With order=newest, the order that changed last comes first, and all pages show the orders as they were at the start. Unknown parameters are refused.',
      querystring: ListQuerySchema,
      response: { 200: successSchema(OrderListSchema, 'The orders') },
    })
    app.get('/Purchase/list', {
      schema: list,
      handler: async (request, reply) => {
        const { caller, query: sent } = request
        if (sent.product !== undefined) request.need('payloads')
        const query = { limit: DEFAULT_LIST_LIMIT, ...withPeriod(sent) }
        if (caller.seesAll && query.customer === undefined) keepUncompressed(reply)
        tagAnswer(reply)
        return app.answerList(request, reply, async (place) => {
          const { orders, nextCursor } = await readBack.list(caller, { ...query, ...place })
          return { Orders: await named(orders.map(stateAnswer), caller.seesAll), NextCursor: nextCursor }
        })
      },
    })

    const detail = {
      summary: 'One order and its whole history',
      operationId: 'purchaseDetail',
      isTagged: true,
      description:
        'State and deliveries, newest first. An operator names the customer if several have an order with this id.',
      tags: ['Purchase'],
      errors: [
        purchaseErrors.orderNotFound,
        purchaseErrors.orderAmbiguous,
        purchaseErrors.cursorInvalid,
        customerErrors.notFound,
        operatorErrors.payloads,
      ],
      params: OrderParamsSchema,
      querystring: DetailQuerySchema,
      response: { 200: successSchema(OrderDetailSchema, 'The order') },
    }
    app.get('/Purchase/detail/:orderId', {
      schema: detail,
      handler: async (request, reply) => {
        const { limit = DEFAULT_HISTORY_LIMIT, payload, customer, cursor } = request.query
        if (payload === 'full') request.need('payloads')
        const query = { limit, customer, cursor, withPayloads: payload === 'full' }
        const { state, history, nextCursor } = await readBack.detail(request.caller, request.params.orderId, query)
        const entries = history.map((each) => ({
          ...itemAnswer(each),
          ...(each.payload && payloadAnswer(each.payload)),
        }))
        answerRaw(reply)
        tagAnswer(reply)
        const [shown = stateAnswer(state)] = await named([stateAnswer(state)], request.caller.seesAll)
        return success({ ...shown, Deliveries: entries, NextCursor: nextCursor })
      },
    })
  }

  app.register(app.needs('look')(routes))
}

const stateAnswer = ({ orderId, customerId, status, receiptId, receivedAt }: OrderDetail['state']) => ({
  OrderID: orderId,
  CustomerID: customerId,
  Status: status,
  ReceiptID: receiptId,
  ReceivedAt: isoMilliseconds(receivedAt),
})

export const ordersPlugin = fastifyPlugin(plugin, {
  name: 'orders',
  dependencies: ['token', 'purchase', 'exports'],
  encapsulate: true,
})
