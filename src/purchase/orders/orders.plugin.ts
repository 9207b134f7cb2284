import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { keepUncompressed, tagAnswer } from '#src/http/answers/read-answers.ts'
import { answerRaw, JSON_TYPE, success, successSchema } from '#src/http/envelope.ts'
import { queryReading, withPeriod } from '#src/http/query-reading.ts'
import { AppError } from '#src/lib/app-error.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import type { Random } from '#src/lib/random.ts'
import type { Store } from '#src/store/store.ts'
import { callerOf } from '../caller.ts'
import { createCursors } from '../cursors.ts'
import { deliveryOriginAnswer, itemAnswer, payloadAnswer } from '../delivery-answer.ts'
import { createDeliveryReader } from '../delivery-body.ts'
import { NoQuerySchema, ReceiptParamsSchema } from '../page.schema.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { DeliveryOriginSchema, PayloadSchema } from '../purchase.schema.ts'
import { createReadBack } from './orders.rule.ts'
import {
  DEFAULT_HISTORY_LIMIT,
  DEFAULT_LIST_LIMIT,
  DetailQuerySchema,
  ListQuerySchema,
  OrderDetailSchema,
  OrderListSchema,
  OrderParamsSchema,
} from './orders.schema.ts'

export interface ReadBackOptions {
  readonly config: Config
  readonly store: Store
  readonly random: Random
}

const plugin: FastifyPluginAsyncTypebox<ReadBackOptions> = async (app, { config, store, random }) => {
  const readBack = createReadBack({
    deliveries: store.deliveries,
    purges: store.purges,
    customers: store.customers,
    cursors: createCursors(store.secrets, random),
    productsOf: createDeliveryReader(config).products,
  })

  const routes: FastifyPluginAsyncTypebox = async (app) => {
    const list = {
      summary: 'List orders',
      operationId: 'purchaseList',
      isTagged: true,
      tags: ['Purchase'],
      errors: [purchaseErrors.cursorInvalid, purchaseErrors.cursorPurged, customerErrors.notFound],
      description:
        'Sorted by order id (for operators by customer, then order id), so that paging shows each order that existed at the start exactly once, whatever comes in meanwhile. With order=newest, the order that changed last comes first, and all pages show the orders as they were at the start. Unknown parameters are refused.',
      querystring: ListQuerySchema,
      response: { 200: successSchema(OrderListSchema, 'The orders') },
    }
    app.get('/Purchase/list', {
      schema: list,
      preValidation: queryReading(ListQuerySchema),
      handler: async (request, reply) => {
        const { limit = DEFAULT_LIST_LIMIT, ...filters } = withPeriod(request.query)
        const caller = callerOf(request)
        const { orders, nextCursor } = await readBack.list(caller, { ...filters, limit })
        if (caller.operator && filters.customer === undefined) keepUncompressed(reply)
        tagLastPage(reply, nextCursor)
        return success({ Orders: orders.map(stateAnswer), NextCursor: nextCursor })
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
      ],
      params: OrderParamsSchema,
      querystring: DetailQuerySchema,
      response: { 200: successSchema(OrderDetailSchema, 'The order') },
    }
    app.get('/Purchase/detail/:orderId', {
      schema: detail,
      preValidation: queryReading(DetailQuerySchema),
      handler: async (request, reply) => {
        const { limit = DEFAULT_HISTORY_LIMIT, payload, customer, cursor } = request.query
        const query = { limit, customer, cursor, withPayloads: payload === 'full' }
        const { state, history, nextCursor } = await readBack.detail(callerOf(request), request.params.orderId, query)
        const entries = history.map((each) => ({
          ...itemAnswer(each),
          ...(each.payload && payloadAnswer(each.payload)),
        }))
        answerRaw(reply)
        tagLastPage(reply, nextCursor)
        return success({ ...stateAnswer(state), Deliveries: entries, NextCursor: nextCursor })
      },
    })

    const delivery = {
      summary: 'One delivery with its payload',
      operationId: 'purchaseDelivery',
      isTagged: true,
      description:
        'Looks up a receipt. The payload consists of the delivered bytes. Also says where the delivery came from.',
      tags: ['Purchase'],
      errors: [purchaseErrors.deliveryNotFound],
      params: ReceiptParamsSchema,
      querystring: NoQuerySchema,
      response: { 200: successSchema(DeliveryOriginSchema, 'The delivery') },
    }
    app.get('/Purchase/delivery/:receiptId', {
      schema: delivery,
      handler: async (request, reply) => {
        const found = await readBack.delivery(callerOf(request), request.params.receiptId)
        answerRaw(reply)
        tagAnswer(reply)
        return success(deliveryOriginAnswer(found))
      },
    })

    const payload = {
      summary: 'The exact bytes of one delivery',
      operationId: 'purchaseDeliveryPayload',
      isTagged: true,
      tags: ['Purchase'],
      errors: [purchaseErrors.deliveryNotFound, purchaseErrors.payloadErased],
      description: 'Not in the envelope: the answer is the delivered body, byte for byte.',
      params: ReceiptParamsSchema,
      querystring: NoQuerySchema,
      response: { 200: PayloadSchema },
    }
    app.get('/Purchase/delivery/:receiptId/payload', {
      schema: payload,
      handler: async (request, reply) => {
        const found = await readBack.delivery(callerOf(request), request.params.receiptId)
        if (found.erased) throw new AppError(purchaseErrors.payloadErased)
        tagAnswer(reply)
        return reply.type(JSON_TYPE).send(Buffer.from(found.payload) as never)
      },
    })
  }

  app.register(app.authenticated(routes))
}

/** A cursor is different each time it is made. */
const tagLastPage = (reply: FastifyReply, nextCursor: string | null): void => {
  if (nextCursor === null) tagAnswer(reply)
}

interface StateView {
  readonly orderId: string
  readonly customerId: string
  readonly status: number
  readonly receiptId: string
  readonly receivedAt: number
}

const stateAnswer = ({ orderId, customerId, status, receiptId, receivedAt }: StateView) => ({
  OrderID: orderId,
  CustomerID: customerId,
  Status: status,
  ReceiptID: receiptId,
  ReceivedAt: isoMilliseconds(receivedAt),
})

export const readBackPlugin = fastifyPlugin(plugin, { name: 'read-back', dependencies: ['token'], encapsulate: true })
