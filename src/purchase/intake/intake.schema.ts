import { Type } from '@sinclair/typebox'
import { STATUS_MEANINGS } from '../status.ts'

const meanings = STATUS_MEANINGS.map((meaning, status) => `${status} ${meaning}`).join(', ')

export const StatusSchema = Type.Integer({
  minimum: 0,
  maximum: 3,
  description: `The purchase order is: ${meanings}`,
  examples: [2],
})

export const PurchaseHeadersSchema = Type.Object({
  ApiKey: Type.String({ description: 'The key that teslim key issue printed' }),
  'Idempotency-Key': Type.Optional(
    Type.String({
      pattern: '^[\\x21-\\x7e]{1,255}$',
      description: 'Names this delivery: sent again with the same bytes, it is answered with the first receipt',
      examples: ['PO-1001-processing'],
    }),
  ),
})

export const PurchaseBodySchema = Type.Object(
  { Status: StatusSchema },
  {
    additionalProperties: true,
    description: 'A purchase order. Whatever it holds besides Status is kept byte for byte.',
  },
)

/** A delivery for each Status, for the contract. */
export const purchaseExamples = Object.fromEntries(
  STATUS_MEANINGS.map((meaning, status) => [
    `status${status}`,
    {
      summary: `Status ${status}: ${meaning}`,
      value: { OrderID: 'PO-1', Status: status, Products: [{ Sku: 'SKU-1', Quantity: 3 }] },
    },
  ]),
)

export const ReceiptSchema = Type.Object({
  ReceiptID: Type.String({
    format: 'uuid',
    description: 'Names the delivery, and sorts by the time it came',
    examples: ['01a1fd40-d147-7681-8dbc-9e73fe5b8d5f'],
  }),
  Status: StatusSchema,
  OrderID: Type.Optional(Type.String({ description: 'The id of the order, where one was found', examples: ['PO-1'] })),
  Duplicate: Type.Boolean({
    description: 'Whether it repeats an earlier one, whose receipt this is',
    examples: [false],
  }),
  ReceivedAt: Type.String({
    format: 'date-time',
    description: 'When it came, in UTC',
    examples: ['2026-11-21T08:37:25.959Z'],
  }),
})
