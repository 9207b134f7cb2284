import { type SchemaOptions, type TSchema, Type } from '@sinclair/typebox'

export const ENDPOINT_ID = '01a1fd42-7c3e-7d10-9b2a-6c1e5f0a4d77'
export const RECEIPT_ID = '01a1fd40-d147-7681-8dbc-9e73fe5b8d5f'
export const URL_EXAMPLE = 'https://backoffice.example/webhooks'

export const time = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-11-21T08:37:25.959Z'] })
export const orNull = <Schema extends TSchema>(schema: Schema, description: string, options: SchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], { description, ...options })

export const Status = Type.Integer({ minimum: 0, maximum: 3, examples: [3] })
export const ERROR = 'connection refused'
