import { Type } from '@sinclair/typebox'
import { StatusSchema } from '../intake/intake.schema.ts'

const RECEIPT = '01a1fd40-d147-7681-8dbc-9e73fe5b8d5f'
const CURSOR = 'cY3Vyc29yLW9mLWFuLWFuc3dlcg'

const limit = (fallback: number) =>
  Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: fallback, description: 'Most entries in one answer' }),
  )
const customer = Type.Optional(
  Type.String({
    minLength: 1,
    description: 'For operators: only this customer, by id or e-mail address',
    examples: ['shop@example.com'],
  }),
)
const cursor = Type.Optional(
  Type.String({
    minLength: 1,
    description: 'NextCursor of an answer to the same address with the same filters',
    examples: [CURSOR],
  }),
)
const time = (description: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      description: `${description}: 2026-11-21T09:00:00Z, with any offset, or 2026-11-21 for its start in UTC`,
      examples: ['2026-11-21'],
    }),
  )

export const DEFAULT_LIST_LIMIT = 50
export const DEFAULT_HISTORY_LIMIT = 100

export const ListQuerySchema = Type.Object(
  {
    status: Type.Optional(StatusSchema),
    orderId: Type.Optional(Type.String({ minLength: 1, description: 'Only the order of this id', examples: ['PO-1'] })),
    product: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Only orders whose last delivery names this product code',
        examples: ['SKU-1'],
      }),
    ),
    from: time('Only orders whose state was reached at this time or later'),
    to: time('Only orders whose state was reached before this time'),
    customer,
    limit: limit(DEFAULT_LIST_LIMIT),
    cursor,
  },
  { additionalProperties: false },
)

export const DetailQuerySchema = Type.Object(
  {
    payload: Type.Optional(
      Type.Union([Type.Literal('none'), Type.Literal('full')], {
        default: 'none',
        description: 'Whether entries contain their payloads',
      }),
    ),
    customer,
    limit: limit(DEFAULT_HISTORY_LIMIT),
    cursor,
  },
  { additionalProperties: false },
)

export const NoQuerySchema = Type.Object({}, { additionalProperties: false })

export const OrderParamsSchema = Type.Object({
  orderId: Type.String({
    description: 'Percent-encode a slash and other characters that an address cannot contain',
    examples: ['PO-1'],
  }),
})

export const ReceiptParamsSchema = Type.Object({
  receiptId: Type.String({ description: 'The ReceiptID of a delivery', examples: [RECEIPT] }),
})

const receiptId = Type.String({ format: 'uuid', description: 'Identifies a delivery', examples: [RECEIPT] })
const receivedAt = Type.String({ format: 'date-time', description: 'Time of arrival in UTC' })
const orderId = Type.String({ description: 'The id of the order', examples: ['PO-1'] })
const customerId = Type.String({
  description: 'The customer that delivered it',
  examples: ['01a1fd40-0c1e-7b52-9a0f-3f5d2c1b7e64'],
})
const duplicate = Type.Boolean({
  description: 'Whether it repeated the bytes of the delivery before it and changed nothing',
  examples: [false],
})
const nextCursor = Type.Union([Type.String({ examples: [CURSOR] }), Type.Null()], {
  description:
    'Send it as cursor to get what follows. Null only at the end: a filtered answer may have few entries or none before that.',
})

/** The delivered bytes. */
const payload = Type.Object(
  {},
  {
    additionalProperties: true,
    description: 'The body that was delivered, byte for byte',
    examples: [{ OrderID: 'PO-1', Status: 2, Products: [{ Sku: 'SKU-1', Quantity: 3 }] }],
  },
)

const state = {
  OrderID: orderId,
  CustomerID: customerId,
  Status: StatusSchema,
  ReceiptID: receiptId,
  ReceivedAt: receivedAt,
}

export const OrderListSchema = Type.Object({ Orders: Type.Array(Type.Object(state)), NextCursor: nextCursor })

export const OrderDetailSchema = Type.Object({
  ...state,
  Deliveries: Type.Array(
    Type.Object({
      ReceiptID: receiptId,
      Status: StatusSchema,
      Duplicate: duplicate,
      ReceivedAt: receivedAt,
      Payload: Type.Optional(payload),
    }),
    { description: 'Newest first' },
  ),
  NextCursor: nextCursor,
})

export const DeliverySchema = Type.Object({
  ReceiptID: receiptId,
  OrderID: Type.Optional(orderId),
  CustomerID: customerId,
  Status: StatusSchema,
  Duplicate: duplicate,
  ReceivedAt: receivedAt,
  Payload: payload,
})

export const PayloadSchema = payload
