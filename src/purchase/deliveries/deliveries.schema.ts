import { Type } from '@sinclair/typebox'
import {
  CustomerName,
  closed,
  customerFilter,
  filter,
  KEY_ID,
  limit,
  named,
  timeFilter,
} from '#src/lib/json/schema-parts.ts'
import {
  cursor,
  DeliveryOriginSchema,
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

export const SupplierDeliveriesQuerySchema = closed({ ...filters, ...page })

export const DeliveriesQuerySchema = closed({
  ...filters,
  customer: customerFilter,
  key: filter('Only deliveries that came with the API key with this id', KEY_ID),
  address: filter('Only deliveries that came from this address or network', '203.0.113.0/24'),
  ...page,
})

const { ReceiptID, CustomerID, Status, Duplicate, ReceivedAt, Erased } = DeliverySchema.properties
const item = { ReceiptID, OrderID: Type.Optional(OrderIdSchema), Status, Duplicate, ReceivedAt, Erased }

export const SupplierDeliveriesSchema = Type.Object({
  Deliveries: Type.Array(named('SupplierSummary', item), { description: 'Newest first' }),
  NextCursor: nextCursor,
})

const { KeyID, KeyLabel, Address } = DeliveryOriginSchema.properties

/** Only operators see where it came from. */
export const DeliverySummarySchema = named('DeliverySummary', {
  ...item,
  CustomerID,
  Customer: CustomerName,
  KeyID: Type.Optional(KeyID),
  KeyLabel: Type.Optional(KeyLabel),
  Address: Type.Optional(Address),
})

export const DeliveriesSchema = Type.Object({
  Deliveries: Type.Array(DeliverySummarySchema, { description: 'Newest first' }),
  NextCursor: nextCursor,
  Scanned: Type.Optional(
    Type.Object(
      { Positions: Type.Integer({ examples: [200_000] }), Of: Type.Integer({ examples: [5_000_000] }) },
      { description: 'For operators who ask for a key or an address: how far back this looked' },
    ),
  ),
})
