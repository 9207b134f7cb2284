import { type TSchema, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Problem } from '#src/lib/app-error.ts'
import { writeJson } from '#src/lib/json/raw.ts'

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

export const failure = (error: { code: string; message: string }, id: string, problems?: readonly Problem[]) => ({
  data: null,
  success: false,
  message: error.message,
  errorCode: error.code,
  requestId: id,
  ...(problems && { errors: problems }),
})

/** Answers are written as they are: TypeScript holds them to their schemas, and the tests hold each to `openapi.yaml`. */
export const installEnvelope = (app: FastifyInstance): void =>
  void app.addSchema(FailureSchema).setReplySerializer(jsonLine)

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Ends with a newline, so that the shell's prompt starts on a new line. */
export const jsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`

/** Without it, Fastify loads a compiler and makes a serializer for each schema at the start, which nothing would call. */
export const schemaController = { compilersFactory: { buildSerializer: () => () => jsonLine } }

/** Lets an answer hold raw JSON, which Fastify's own serializer cannot write. */
export const answerRaw = (reply: FastifyReply): void =>
  void reply.type(JSON_TYPE).serializer(((value: unknown) => writeJson(value, '\n')) as unknown as typeof jsonLine)

/** The headers of every answer. Answers hold tokens and orders: nothing may cache, frame or sniff them. */
export const commonHeaders = (requestId: string) => ({
  'x-request-id': requestId,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
})

/** Names a request header that the answer depends on. */
export function addVary(reply: FastifyReply, name: string): void {
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? name : `${others}, ${name}`)
}

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
