import { Type } from '@sinclair/typebox'
import { named } from '#src/lib/json/named-schema.ts'
import { cursor, customer, limit, nextCursor, orderId, time } from '../page.schema.ts'
import { DeliverySchema, OrderIdSchema, StatusSchema } from '../purchase.schema.ts'

export const DEFAULT_LIMIT = 50

const filters = {
  status: Type.Optional(StatusSchema),
  orderId: orderId('Only deliveries of the order with this id'),
  product: Type.Optional(
    Type.String({ minLength: 1, description: 'Only deliveries that name this product code', examples: ['SKU-1'] }),
  ),
  duplicate: Type.Optional(Type.Boolean({ description: 'true: only echoes; false: none' })),
  from: time('Only deliveries received at this time or later'),
  to: time('Only deliveries received before this time'),
}
const page = { limit: limit(DEFAULT_LIMIT), cursor }

export const SupplierDeliveriesQuerySchema = Type.Object({ ...filters, ...page }, { additionalProperties: false })

export const DeliveriesQuerySchema = Type.Object({ ...filters, customer, ...page }, { additionalProperties: false })

const { ReceiptID, CustomerID, Status, Duplicate, ReceivedAt, Erased } = DeliverySchema.properties
const item = { ReceiptID, OrderID: Type.Optional(OrderIdSchema), Status, Duplicate, ReceivedAt, Erased }

export const SupplierDeliveriesSchema = Type.Object({
  Deliveries: Type.Array(named('SupplierSummary', item), { description: 'Newest first' }),
  NextCursor: nextCursor,
})

export const DeliverySummarySchema = named('DeliverySummary', { ...item, CustomerID })

export const DeliveriesSchema = Type.Object({
  Deliveries: Type.Array(DeliverySummarySchema, { description: 'Newest first' }),
  NextCursor: nextCursor,
})
