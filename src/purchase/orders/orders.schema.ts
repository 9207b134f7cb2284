import { Type } from '@sinclair/typebox'
import { CustomerName, closed, customerFilter, limit, named, text, timeFilter } from '#src/lib/json/schema-parts.ts'
import {
  cursor,
  DeliverySchema,
  nextCursor,
  OrderIdSchema,
  orderId,
  product,
  StatusSchema,
} from '../purchase.schema.ts'

export const DEFAULT_LIST_LIMIT = 50
export const DEFAULT_HISTORY_LIMIT = 100

export const ListQuerySchema = closed({
  status: Type.Optional(StatusSchema),
  orderId: orderId('Only the order with this id'),
  product: product('Only orders whose latest delivery names this product code'),
  from: timeFilter('Only orders whose state was reached at this time or later'),
  to: timeFilter('Only orders whose state was reached before this time'),
  order: Type.Optional(
    Type.Union([Type.Literal('id'), Type.Literal('newest')], {
      default: 'id',
      description: 'id: by order id; newest: the order that changed last comes first; without effect beside orderId',
    }),
  ),
  customer: customerFilter,
  limit: limit(DEFAULT_LIST_LIMIT, 'entries'),
  cursor,
})

export const DetailQuerySchema = closed({
  payload: Type.Optional(
    Type.Union([Type.Literal('none'), Type.Literal('full')], {
      default: 'none',
      description: 'Whether entries contain their payloads',
    }),
  ),
  customer: customerFilter,
  limit: limit(DEFAULT_HISTORY_LIMIT, 'entries'),
  cursor,
})

export const OrderParamsSchema = Type.Object({
  orderId: text('Percent-encode a slash and other characters that an address cannot contain', 'PO-1'),
})

const { ReceiptID, CustomerID, Status, Duplicate, ReceivedAt, Erased, Payload } = DeliverySchema.properties

const state = { OrderID: OrderIdSchema, CustomerID, Customer: CustomerName, Status, ReceiptID, ReceivedAt }

export const OrderListSchema = Type.Object({ Orders: Type.Array(named('Order', state)), NextCursor: nextCursor })

export const OrderDetailSchema = named('OrderHistory', {
  ...state,
  Deliveries: Type.Array(named('OrderEntry', { ReceiptID, Status, Duplicate, ReceivedAt, Erased, Payload }), {
    description: 'Newest first',
  }),
  NextCursor: nextCursor,
})
