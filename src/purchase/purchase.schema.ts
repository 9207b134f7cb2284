import { Type } from '@sinclair/typebox'
import {
  CUSTOMER_ID,
  CustomerName,
  closed,
  filter,
  KEY_ID,
  named,
  nextCursor as nextCursorOf,
  RECEIPT_ID,
  REQUEST_ID,
  text,
} from '#src/lib/json/schema-parts.ts'
import { STATUS_MEANINGS } from './status.ts'

const meanings = STATUS_MEANINGS.map((meaning, status) => `${status} ${meaning}`).join(', ')

export const StatusSchema = Type.Integer({
  minimum: 0,
  maximum: 3,
  description: `The purchase order is: ${meanings}`,
  examples: [2],
})

export const OrderIdSchema = text('Order id, unique only within its customer', 'PO-1')

export const PayloadSchema = Type.Object(
  {},
  {
    additionalProperties: true,
    description: 'The body that was delivered, byte for byte',
    examples: [{ OrderID: 'PO-1', Status: 2, Products: [{ Sku: 'SKU-1', Quantity: 3 }] }],
  },
)

/** A delivery as every read shows it. */
export const DeliverySchema = named('SupplierDelivery', {
  ReceiptID: Type.String({
    format: 'uuid',
    description: 'Identifies a delivery',
    examples: [RECEIPT_ID],
  }),
  OrderID: Type.Optional(OrderIdSchema),
  CustomerID: text('The customer that delivered it; only with it does OrderID name one order', CUSTOMER_ID),
  Status: StatusSchema,
  Duplicate: Type.Boolean({
    description: "An echo: the same bytes as the order's latest delivery, so the order did not change",
    examples: [false],
  }),
  ReceivedAt: Type.String({ format: 'date-time', description: 'Time of arrival in UTC' }),
  Erased: Type.Optional(
    Type.Boolean({
      description: 'True if it was erased',
      examples: [true],
    }),
  ),
  Payload: Type.Optional(PayloadSchema),
})

const kept = (description: string, example: string) =>
  Type.Union([Type.String({ description, examples: [example] }), Type.Null()])

/** A delivery, and where it came from. What is not known is null, also for deliveries of earlier versions. */
export const DeliveryOriginSchema = named('Delivery', {
  ...DeliverySchema.properties,
  Customer: CustomerName,
  KeyID: kept('The id of the API key that was sent', KEY_ID),
  KeyLabel: kept('The label of that API key', 'erp'),
  Address: kept('The address of the client; null once it was erased', '192.0.2.17'),
  RequestID: kept('The id of the request; null once it was erased', REQUEST_ID),
})

/** Parameters of the lists. */
const CURSOR = 'cY3Vyc29yLW9mLWFuLWFuc3dlcg'
export const cursor = filter('NextCursor of an answer to the same address with the same filters', CURSOR)
export const nextCursor = nextCursorOf(CURSOR, { title: 'NextCursor' })
export const orderId = (description: string) => filter(description, 'PO-1')
export const product = (description: string) => filter(description, 'SKU-1')

export const NoQuerySchema = closed({})

export const ReceiptParamsSchema = Type.Object({
  receiptId: text('The ReceiptID of a delivery', RECEIPT_ID),
})
