import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import { tagAnswer } from '#src/http/answers/read-answers.ts'
import { answerRaw, JSON_TYPE, success, successSchema } from '#src/http/envelope.ts'
import { AppError } from '#src/lib/app-error.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import type { Store } from '#src/store/store.ts'
import { deliveryAnswer } from '../delivery-answer.ts'
import { createFindDelivery } from '../find-delivery.ts'
import { NoQuerySchema, ReceiptParamsSchema } from '../page.schema.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { DeliverySchema, PayloadSchema } from '../purchase.schema.ts'
import { supplierSchema } from './supplier.schema.ts'

export interface SupplierReadsOptions {
  readonly config: Config
  readonly store: Store
}

const plugin: FastifyPluginAsyncTypebox<SupplierReadsOptions> = async (app, { config, store }) => {
  const findDelivery = createFindDelivery(store.deliveries)

  const routes: FastifyPluginAsyncTypebox = async (app) => {
    const supplier = {
      summary: 'The API key and what it may deliver',
      operationId: 'supplierGet',
      description: 'Checks an API key without a delivery: its customer, expiry, authority rules and limits.',
      tags: ['Supplier'],
      response: { 200: successSchema(supplierSchema(config), 'The API key') },
    }
    app.get('/Supplier/Get', { schema: supplier }, async ({ supplier: { key, customer } }) =>
      success({
        CustomerID: customer.id,
        Key: {
          KeyID: key.id,
          Label: key.label,
          CreatedAt: isoMilliseconds(key.createdAt),
          ExpiresAt: key.expiresAt === null ? null : isoMilliseconds(key.expiresAt),
          Networks: key.networks && [...key.networks],
        },
        AuthorityRules: [...customer.authority],
        Limits: {
          BodyBytes: config.bodyLimitBytes,
          RateLimit: (key.rateLimit ?? config.rateLimit) || null,
          OrderIDRequired: config.orderId === 'required',
          IdempotencyDays: config.idempotencyDays,
        },
      }),
    )

    const delivery = {
      summary: 'One delivery with its payload, by API key',
      operationId: 'supplierDelivery',
      isTagged: true,
      description: 'Looks up a receipt. The payload consists of the delivered bytes.',
      tags: ['Supplier'],
      errors: [purchaseErrors.deliveryNotFound],
      params: ReceiptParamsSchema,
      querystring: NoQuerySchema,
      response: { 200: successSchema(DeliverySchema, 'The delivery') },
    }
    app.get('/Supplier/delivery/:receiptId', {
      schema: delivery,
      handler: async ({ params, supplier: { customer } }, reply) => {
        const found = await findDelivery({ operator: false, customer }, params.receiptId)
        answerRaw(reply)
        tagAnswer(reply)
        return success(deliveryAnswer(found))
      },
    })

    const payload = {
      summary: 'The exact bytes of one delivery, by API key',
      operationId: 'supplierDeliveryPayload',
      isTagged: true,
      tags: ['Supplier'],
      errors: [purchaseErrors.deliveryNotFound, purchaseErrors.payloadErased],
      description: 'Not in the envelope: the answer is the delivered body, byte for byte.',
      params: ReceiptParamsSchema,
      querystring: NoQuerySchema,
      response: { 200: PayloadSchema },
    }
    app.get('/Supplier/delivery/:receiptId/payload', {
      schema: payload,
      handler: async ({ params, supplier: { customer } }, reply) => {
        const found = await findDelivery({ operator: false, customer }, params.receiptId)
        if (found.erased) throw new AppError(purchaseErrors.payloadErased)
        tagAnswer(reply)
        return reply.type(JSON_TYPE).send(Buffer.from(found.payload) as never)
      },
    })
  }

  app.register(app.suppliersOnly(routes))
}

export const supplierReadsPlugin = fastifyPlugin(plugin, {
  name: 'supplier-reads',
  dependencies: ['suppliers'],
  encapsulate: true,
})
