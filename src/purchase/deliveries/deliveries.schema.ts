import { Type } from '@sinclair/typebox'
import { named } from '#src/lib/json/named-schema.ts'
import { customerFilter, limit, timeFilter } from '#src/lib/json/schema-parts.ts'
import {
  cursor,
  DeliverySchema,
  nextCursor,
  OrderIdSchema,
  orderId,
  product,
  StatusSchema,
} from '../purchase.schema.ts'

export const DEFAULT_LIMIT = 50

const filters = {
  status: Type.Optional(StatusSchema),
  orderId: orderId('Only deliveries of the order with this id'),
  product: product('Only deliveries that name this product code'),
  duplicate: Type.Optional(Type.Boolean({ description: 'true: only echoes; false: none' })),
  from: timeFilter('Only deliveries received at this time or later'),
  to: timeFilter('Only deliveries received before this time'),
}
const page = { limit: limit(DEFAULT_LIMIT, 'entries'), cursor }

export const SupplierDeliveriesQuerySchema = Type.Object({ ...filters, ...page }, { additionalProperties: false })

export const DeliveriesQuerySchema = Type.Object(
  { ...filters, customer: customerFilter, ...page },
  { additionalProperties: false },
)

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
