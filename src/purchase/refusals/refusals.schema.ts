import { Type } from '@sinclair/typebox'
import {
  CUSTOMER_ID,
  CustomerName,
  closed,
  customerFilter,
  filter,
  KEY_ID,
  limit,
  named,
  orNull,
  REQUEST_ID,
  text,
  timeFilter,
} from '#src/lib/json/schema-parts.ts'
import { cursor, nextCursor, OrderIdSchema, orderId } from '../purchase.schema.ts'

const CODE = 'PRODUCT_NOT_AUTHORIZED'

export const DEFAULT_REFUSALS_LIMIT = 50

const filters = {
  orderId: orderId('Of this order'),
  code: filter('With this error code', CODE),
  requestId: filter('Of this request', REQUEST_ID),
  from: timeFilter('Refused at this time or later'),
  to: timeFilter('Refused before this time'),
}
const page = { limit: limit(DEFAULT_REFUSALS_LIMIT, 'entries'), cursor }

export const SupplierRefusalsQuerySchema = closed({ ...filters, ...page })

export const RefusalsQuerySchema = closed({ ...filters, customer: customerFilter, ...page })

const REFUSAL = '01a1fd40-d173-7f02-9c11-5be2a7d3f84c'

const refusal = {
  RefusalID: Type.String({
    format: 'uuid',
    description: 'Identifies the refusal; sorts by time',
    examples: [REFUSAL],
  }),
  RefusedAt: Type.String({ format: 'date-time', description: 'In UTC' }),
  ErrorCode: text('The errorCode of the answer', CODE),
  Message: text('The message of the answer, at most its first 500 characters', 'This API key may not deliver: SKU-9.'),
  MessageCode: Type.Optional(text('The message, for programs; absent if it is too long', 'PRODUCTS_NOT_ALLOWED')),
  MessageValues: Type.Optional(
    Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'Its values',
        examples: [{ products: ['SKU-9'] }],
      },
    ),
  ),
  OrderID: Type.Optional(OrderIdSchema),
  RequestID: text('The requestId of the answer', REQUEST_ID),
  KeyID: Type.Optional(text('The API key that was sent', KEY_ID)),
  KeyLabel: Type.Optional(text('Its label', 'erp')),
  PayloadBytes: Type.Optional(
    Type.Integer({ minimum: 0, description: 'The size of the body, if it was kept', examples: [83] }),
  ),
}

export const SupplierRefusalsSchema = Type.Object({
  Refusals: Type.Array(named('SupplierRefusal', refusal), { description: 'Newest first' }),
  NextCursor: nextCursor,
})

const CustomerID = orNull(
  Type.String({ examples: [CUSTOMER_ID] }),
  'The customer of the API key; null if the key is missing or unknown',
)

const reason = {
  Reason: Type.Optional(text('For operators: what the message does not say', 'unknown key')),
  ReasonCode: Type.Optional(text('The reason, for programs', 'KEY_UNKNOWN')),
  ReasonValues: Type.Optional(
    Type.Object({}, { additionalProperties: true, description: 'Its values', examples: [{}] }),
  ),
}

export const RefusalSchema = named('Refusal', { ...refusal, CustomerID, Customer: CustomerName, ...reason })

export const RefusalsSchema = Type.Object({
  Refusals: Type.Array(RefusalSchema, { description: 'Newest first' }),
  NextCursor: nextCursor,
})

export const RefusalParamsSchema = Type.Object({
  refusalId: text('The RefusalID of a refusal', REFUSAL),
})

export const RefusedPayloadSchema = Type.String({
  contentMediaType: 'application/octet-stream',
  description: 'The body that was refused, byte for byte',
  examples: ['{"OrderID":"PO-1","Status":"2"}'],
})
