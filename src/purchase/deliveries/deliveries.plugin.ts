import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { exportable } from '#src/http/answers/exports.ts'
import { addDigest, keepUncompressed, tagAnswer } from '#src/http/answers/read-answers.ts'
import { answerRaw, JSON_TYPE, success, successSchema } from '#src/http/envelope.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { withPeriod } from '#src/http/validation.ts'
import { AppError } from '#src/lib/app-error.ts'
import { naming } from '#src/lib/display-name.ts'
import { isNetwork, readPrefix } from '#src/lib/net/network.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import type { DeliverySummary } from '#src/store/store.ts'
import { operatorErrors } from '#src/token/operator.errors.ts'
import {
  deliveryAnswer,
  deliveryOriginAnswer,
  senderAnswer,
  summaryAnswer,
  supplierSummaryAnswer,
} from '../delivery-answer.ts'
import { BY_KEY, BY_TOKEN, type Door, titleOf } from '../doors.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import {
  DeliveryOriginSchema,
  DeliverySchema,
  NoQuerySchema,
  PayloadSchema,
  ReceiptParamsSchema,
} from '../purchase.schema.ts'
import { createDeliveryList, createFindDelivery } from './deliveries.rule.ts'
import {
  DEFAULT_LIMIT,
  DeliveriesQuerySchema,
  DeliveriesSchema,
  SupplierDeliveriesQuerySchema,
  SupplierDeliveriesSchema,
} from './deliveries.schema.ts'
import { supplierAnswer, supplierSchema } from './supplier.schema.ts'

const DIGEST_TEXT = ' For operators the header `Repr-Digest` (RFC 9530) has its SHA-256, and it is not compressed.'

type Routes = Parameters<FastifyPluginAsyncTypebox>[0]

const plugin: PluginWith<'config' | 'store'> = async (app, { config, store }) => {
  const { deliveries, purges, customers, apiKeys } = store
  const reads = { deliveries, purges, customers, cursors: app.cursors, productsOf: app.deliveryReader.products }
  const { list } = createDeliveryList({ ...reads, apiKeys })
  const find = createFindDelivery(deliveries)
  const named = naming(store.customers.names)

  const addList = (routes: Routes, door: Door): void => {
    const isByKey = door === BY_KEY
    const querystring = isByKey ? SupplierDeliveriesQuerySchema : DeliveriesQuerySchema
    const schema = {
      ...titleOf(door, 'Deliveries', 'List deliveries'),
      description: isByKey
        ? 'What was delivered with the API keys of the customer, newest first, duplicates included. Unknown parameters are refused.'
        : 'What was delivered, newest first, duplicates included: for operators that of all customers, with the API key and the address that each came from. Deliveries of orders with one id come by customer, if an operator names no customer. Unknown parameters are refused.',
      errors: isByKey
        ? [purchaseErrors.cursorInvalid]
        : [purchaseErrors.cursorInvalid, customerErrors.notFound, customerErrors.keyNotFound, operatorErrors.payloads],
      querystring,
      response: {
        200: successSchema(isByKey ? SupplierDeliveriesSchema : DeliveriesSchema, 'The deliveries'),
      },
    }
    routes.get(`/${door.tag}/deliveries`, {
      schema: isByKey ? schema : exportable(schema),
      handler: async (request, reply) => {
        const { caller, query: sent } = request
        if ('product' in sent) request.need('payloads')
        const query = { limit: DEFAULT_LIMIT, ...withPeriod(withNetwork(sent)) }
        const route = isByKey ? 'supplier' : 'deliveries'
        if (caller.seesAll && !('customer' in query)) keepUncompressed(reply)
        return app.answerList(request, reply, async (place) => {
          const { deliveries, nextCursor, origins, scanned } = await list(route, caller, { ...query, ...place })
          const answerOf = (delivery: DeliverySummary) => ({
            ...summaryAnswer(delivery),
            ...(origins && senderAnswer(origins.get(delivery.position))),
          })
          return {
            Deliveries: isByKey
              ? deliveries.map(supplierSummaryAnswer)
              : await named(deliveries.map(answerOf), caller.seesAll),
            NextCursor: nextCursor,
            ...(scanned && { Scanned: { Positions: scanned.done, Of: scanned.all } }),
          }
        })
      },
    })
  }

  const addOne = (routes: Routes, door: Door): void => {
    const isByKey = door === BY_KEY
    const schema = {
      ...titleOf(door, 'Delivery', 'One delivery with its payload'),
      isTagged: true,
      description: `Looks up a receipt. The payload consists of the delivered bytes.${isByKey ? '' : ' Also says where the delivery came from.'}`,
      errors: [purchaseErrors.deliveryNotFound],
      params: ReceiptParamsSchema,
      querystring: NoQuerySchema,
      response: {
        200: successSchema(isByKey ? DeliverySchema : DeliveryOriginSchema, 'The delivery'),
      },
    }
    const path = `/${door.tag}/delivery/:receiptId`
    routes.get(path, {
      schema,
      handler: async ({ access, caller, params }, reply) => {
        const found = await find(caller, params.receiptId)
        answerRaw(reply)
        tagAnswer(reply)
        if (isByKey) return success(deliveryAnswer(found))
        // Whoever only follows the feed learns no more than it has.
        const looks = access.rights.has('look')
        const answer = deliveryOriginAnswer(looks ? found : { ...found, origin: null }, access.rights.has('payloads'))
        const [shown = answer] = await named([answer], looks && caller.seesAll)
        return success(shown)
      },
    })

    const payload = {
      ...titleOf(door, 'DeliveryPayload', 'The exact bytes of one delivery'),
      isTagged: true,
      errors: [
        purchaseErrors.deliveryNotFound,
        purchaseErrors.payloadErased,
        ...(isByKey ? [] : [operatorErrors.payloads]),
      ],
      description: `Not in the envelope: the answer is the delivered body, byte for byte.${isByKey ? '' : DIGEST_TEXT}`,
      params: ReceiptParamsSchema,
      querystring: NoQuerySchema,
      response: { 200: PayloadSchema },
    }
    routes.get(`${path}/payload`, {
      schema: payload,
      handler: async (request, reply) => {
        const { caller, params } = request
        request.need('payloads')
        const found = await find(caller, params.receiptId)
        if (found.erased) throw new AppError(purchaseErrors.payloadErased)
        tagAnswer(reply)
        if (caller.seesAll) addDigest(reply, found.payload)
        return reply.type(JSON_TYPE).send(Buffer.from(found.payload) as never)
      },
    })
  }

  const addSupplier = (routes: Routes): void => {
    const schema = {
      summary: 'The API key and what it may deliver',
      operationId: 'supplierGet',
      description: 'Checks an API key without a delivery: its customer, expiry, authority rules and limits.',
      tags: ['Supplier'],
      response: { 200: successSchema(supplierSchema(config), 'The API key') },
    }
    routes.get('/Supplier/Get', { schema }, async ({ supplier }) => success(supplierAnswer(supplier, config)))
  }

  const byKey: FastifyPluginAsyncTypebox = async (routes) => {
    addList(routes, BY_KEY)
    addSupplier(routes)
    addOne(routes, BY_KEY)
  }
  app.register(app.suppliersOnly(byKey))
  app.register(app.needs()(async (routes) => addOne(routes, BY_TOKEN)))
  app.register(app.needs('look')(async (routes) => addList(routes, BY_TOKEN)))
}

/** Reads the parameter `address`. */
function withNetwork<Query extends object>(query: Query & { readonly address?: string }) {
  const { address, ...others } = query
  if (address === undefined) return others
  const network = readPrefix(address)
  if (!isNetwork(network)) throw invalidRequest([{ path: 'query/address', message: network }])
  return { ...others, network }
}

export const deliveriesPlugin = fastifyPlugin(plugin, {
  name: 'deliveries',
  dependencies: ['token', 'purchase', 'exports'],
  encapsulate: true,
})
