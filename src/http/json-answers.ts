import type { FastifyInstance } from 'fastify'

/** Ends with a newline, so that the shell's prompt starts on a new line. */
export const jsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`

/** Answers are written as they are: TypeScript holds them to their schemas, and the tests hold each to `openapi.yaml`. */
export function installJsonAnswers(app: FastifyInstance): void {
  app.setReplySerializer(jsonLine)
}

/** Otherwise Fastify loads a compiler and makes a serializer for each schema at the start, which nothing would call. */
export const schemaController = { compilersFactory: { buildSerializer: () => () => jsonLine } }
