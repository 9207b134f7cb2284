import {
  type ObjectOptions,
  type SchemaOptions,
  type TLiteral,
  type TProperties,
  type TSchema,
  Type,
} from '@sinclair/typebox'

/** Ids in examples. */
export const CUSTOMER_ID = '01a1fd40-0c1e-7b52-9a0f-3f5d2c1b7e64'
export const KEY_ID = '01a1fd40-1b2c-7d3e-8f4a-5b6c7d8e9fa0'
export const RECEIPT_ID = '01a1fd40-d147-7681-8dbc-9e73fe5b8d5f'
export const REQUEST_ID = '01a1fd40-d173-7140-8bbb-0c6f3d5a9e21'
/** A cursor of the feed. */
export const FEED_CURSOR = 'cY3Vyc29yLW9mLWEtZGVsaXZlcnk'

export const text = (description: string, example: string) => Type.String({ description, examples: [example] })

export const count = (description: string, example: number) => Type.Integer({ description, examples: [example] })

export const flag = (description: string, example: boolean) => Type.Boolean({ description, examples: [example] })

/** An object that has no other fields. */
export const closed = <Fields extends TProperties>(fields: Fields, options: ObjectOptions = {}) =>
  Type.Object(fields, { additionalProperties: false, ...options })

/** One of these texts. */
export const oneOf = <const Value extends string>(values: readonly Value[], options: SchemaOptions) =>
  Type.Union(
    values.map((value): TLiteral<Value> => Type.Literal(value)),
    options,
  )

/** An object that is a named type in the contract and in clients made from it: its title is the name. */
export const named = <Fields extends TProperties>(title: string, fields: Fields, options: ObjectOptions = {}) =>
  Type.Object(fields, { title, ...options })

/** What people call the customer of an answer. */
export const CustomerName = Type.Optional(
  Type.String({
    description: 'For operators: name and e-mail address of the customer; absent if there is no such customer',
    examples: ['Kitap A.Ş. <shop@example.com>'],
  }),
)

/** A time in an answer. */
export const time = (description: string, example = '2026-11-21T08:37:25.959Z') =>
  Type.String({ format: 'date-time', description, examples: [example] })

/** A message by its code and its values, beside its text in English: see lib/messages. */
export const messageParts = (code: string, values: object) => ({
  Code: Type.String({ description: 'The message, for programs', examples: [code] }),
  Values: Type.Object({}, { additionalProperties: true, description: 'Its values', examples: [values] }),
})

export const orNull = <Schema extends TSchema>(schema: Schema, description: string, options: SchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], { description, ...options })

/** A query parameter, or a field of a body, that may be missing but not empty. */
export const filter = (description: string, example: string) =>
  Type.Optional(Type.String({ minLength: 1, description, examples: [example] }))

/** A query parameter that `readTime` reads. */
export const timeFilter = (description: string) =>
  filter(
    `${description}: 2026-11-21T09:00:00Z, with any offset, or 2026-11-21 for the start of that day in UTC`,
    '2026-11-21',
  )

export const customerFilter = filter('For operators: only this customer, by id or e-mail address', 'shop@example.com')

export const limit = (fallback: number, noun: string, maximum = 100) =>
  Type.Optional(
    Type.Integer({ minimum: 1, maximum, default: fallback, description: `Maximum number of ${noun} in one answer` }),
  )

/** The cursor of a list that may have short pages. */
export const nextCursor = (example: string, options: SchemaOptions = {}) =>
  Type.Union([Type.String({ examples: [example] }), Type.Null()], {
    ...options,
    description:
      'Send it as cursor to get what follows; null at the end only. A filtered answer may have few entries or none.',
  })
