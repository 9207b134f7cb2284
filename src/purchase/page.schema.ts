import { Type } from '@sinclair/typebox'

const CURSOR = 'cY3Vyc29yLW9mLWFuLWFuc3dlcg'

/** Parameters that all pages have. */
export const limit = (fallback: number) =>
  Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      default: fallback,
      description: 'Maximum number of entries in one answer',
    }),
  )
export const cursor = Type.Optional(
  Type.String({
    minLength: 1,
    description: 'NextCursor of an answer to the same address with the same filters',
    examples: [CURSOR],
  }),
)
export const time = (description: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      description: `${description}: 2026-11-21T09:00:00Z, with any offset, or 2026-11-21 for the start of that day in UTC`,
      examples: ['2026-11-21'],
    }),
  )

export const orderId = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, description, examples: ['PO-1'] }))

export const customer = Type.Optional(
  Type.String({
    minLength: 1,
    description: 'For operators: only this customer, by id or e-mail address',
    examples: ['shop@example.com'],
  }),
)

export const NoQuerySchema = Type.Object({}, { additionalProperties: false })

export const ReceiptParamsSchema = Type.Object({
  receiptId: Type.String({
    description: 'The ReceiptID of a delivery',
    examples: ['01a1fd40-d147-7681-8dbc-9e73fe5b8d5f'],
  }),
})

export const nextCursor = Type.Union([Type.String({ examples: [CURSOR] }), Type.Null()], {
  title: 'NextCursor',
  description:
    'Send it as cursor to get what follows. Null only at the end: a filtered answer may have few entries or none before that.',
})
