import { type Static, type TSchema, Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type { AppError, Problem } from '#src/lib/app-error.ts'
import { writeJson } from '#src/lib/json/raw.ts'
import { text } from '#src/lib/json/schema-parts.ts'
import { type Text, textOf } from '#src/lib/messages/message.ts'

/** Every successful JSON answer has this shape. */
export const successSchema = <Data extends TSchema>(data: Data, description: string) =>
  Type.Object({ data, success: Type.Literal(true), message: Type.String({ examples: ['OK'] }) }, { description })

export const success = <Data>(data: Data) => ({ data, success: true as const, message: 'OK' })

/** For operators, where the message says more than errorCode. */
const CODED = {
  messageCode: Type.Optional(Type.String({ description: 'For operators: its code' })),
  messageValues: Type.Optional(Type.Object({}, { additionalProperties: true })),
}

export const FailureSchema = Type.Object(
  {
    data: Type.Null(),
    success: Type.Literal(false),
    message: Type.String({ description: 'What went wrong, for people' }),
    errorCode: Type.String({ description: 'What went wrong, for programs' }),
    requestId: Type.String({ description: 'Names the request in the log' }),
    ...CODED,
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          path: text(
            'Where: a JSON Pointer into the body, such as /Status, or query/, path/ or headers/ and the name of a parameter, such as query/limit',
            '/Status',
          ),
          message: Type.String(),
          ...CODED,
        }),
      ),
    ),
  },
  { description: 'Every refusal, at every status' },
)

/** `coded` is for operators: the console shows messages in the language of its reader. */
export type FailureAnswer = Static<typeof FailureSchema>

export const failure = ({ code, text }: AppError, id: string, problems?: readonly Problem[], coded = false) => ({
  data: null,
  success: false,
  ...said(text, coded && problems === undefined && code),
  errorCode: code,
  requestId: id,
  ...(problems && { errors: problems.map(({ path, message }) => ({ path, ...said(message, coded && code) })) }),
})

/** `known` is the code that the answer has anyway; `false` leaves codes out. */
const said = (text: Text, known: string | boolean) => ({
  message: textOf(text),
  ...(known !== false &&
    typeof text !== 'string' &&
    text.code !== known && { messageCode: text.code, messageValues: text.values }),
})

export const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Writes an answer as it is: TypeScript holds it to its schema, and the tests hold each to `openapi.yaml`. Ends with a newline, so that
 * the shell's prompt starts on a new line.
 */
export const jsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`

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
