import { type TSchema, Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'

/** Every successful JSON answer has this shape. */
export const successSchema = <Data extends TSchema>(data: Data, description: string) =>
  Type.Object({ data, success: Type.Literal(true), message: Type.String({ examples: ['OK'] }) }, { description })

export const success = <Data>(data: Data) => ({ data, success: true as const, message: 'OK' })

export const FailureSchema = Type.Object(
  {
    data: Type.Null(),
    success: Type.Literal(false),
    message: Type.String({ description: 'What went wrong, for people' }),
    errorCode: Type.String({ description: 'What went wrong, for programs' }),
    requestId: Type.String({ description: 'Names the request in the log' }),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          path: Type.String({
            description:
              'Where: a JSON Pointer into the body, such as /Status, or query/, path/ or headers/ and the name of a parameter, such as query/limit',
            examples: ['/Status'],
          }),
          message: Type.String(),
        }),
      ),
    ),
  },
  { $id: 'Failure', description: 'Every refusal, at every status' },
)

export const installSchemas = (app: FastifyInstance): void => void app.addSchema(FailureSchema)

const REASONS = {
  400: 'The request is not valid',
  401: 'The API key or the token is missing or not valid',
  403: 'The API key or the token is valid, but does not allow this',
  404: 'Not found, or it belongs to another customer',
  409: 'It conflicts with what is stored, or several match',
  410: 'It was there, and was removed',
  413: 'The body is larger than allowed',
  415: 'The body is of the wrong type or encoding',
  422: 'The Idempotency-Key was used with another body before',
  429: 'Too many requests; send it again after Retry-After seconds',
  500: 'A fault of the service',
  503: 'The service cannot take the request right now; send it again after Retry-After seconds',
} as const

type FailureStatus = keyof typeof REASONS

/** Makes the `response` entries for the refusals of a route. */
export const failures = <Status extends FailureStatus>(...statuses: Status[]) =>
  Object.fromEntries(
    statuses.map((status) => [status, { $ref: 'Failure#', description: REASONS[status] }]),
  ) as unknown as Record<Status, typeof FailureSchema>
