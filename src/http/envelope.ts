import { type TSchema, Type } from '@sinclair/typebox'

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
  { description: 'Every refusal, at every status' },
)
