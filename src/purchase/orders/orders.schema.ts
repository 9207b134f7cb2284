import { Type } from '@sinclair/typebox'
import { DeliverySchema, OrderIdSchema, StatusSchema } from '../purchase.schema.ts'

const CURSOR = 'cY3Vyc29yLW9mLWFuLWFuc3dlcg'

const limit = (fallback: number) =>
  Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      default: fallback,
      description: 'Maximum number of orders or deliveries in one answer',
    }),
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
      description: `${description}: 2026-11-21T09:00:00Z, with any offset, or 2026-11-21 for the start of that day in UTC`,
      examples: ['2026-11-21'],
    }),
  )

export const DEFAULT_LIST_LIMIT = 50
export const DEFAULT_HISTORY_LIMIT = 100

export const ListQuerySchema = Type.Object(
  {
    status: Type.Optional(StatusSchema),
    orderId: Type.Optional(
      Type.String({ minLength: 1, description: 'Only the order with this id', examples: ['PO-1'] }),
    ),
    product: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Only orders whose latest delivery names this product code',
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
  receiptId: Type.String({
    description: 'The ReceiptID of a delivery',
    examples: ['01a1fd40-d147-7681-8dbc-9e73fe5b8d5f'],
  }),
})

const nextCursor = Type.Union([Type.String({ examples: [CURSOR] }), Type.Null()], {
  description:
    'Send it as cursor to get what follows. Null only at the end: a filtered answer may have few entries or none before that.',
})

const { ReceiptID, CustomerID, Status, Duplicate, ReceivedAt, Erased, Payload } = DeliverySchema.properties

const state = { OrderID: OrderIdSchema, CustomerID, Status, ReceiptID, ReceivedAt }

export const OrderListSchema = Type.Object({ Orders: Type.Array(Type.Object(state)), NextCursor: nextCursor })

export const OrderDetailSchema = Type.Object({
  ...state,
  Deliveries: Type.Array(Type.Object({ ReceiptID, Status, Duplicate, ReceivedAt, Erased, Payload }), {
    description: 'Newest first',
  }),
  NextCursor: nextCursor,
})
