import type { FastifyReply } from 'fastify'
import { writeJson } from '#src/lib/json/raw.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Lets an answer hold raw JSON, which Fastify's own serializer cannot write. */
export const answerRaw = (reply: FastifyReply): void =>
  void reply.type(JSON_TYPE).serializer(writeJson as (value: unknown) => unknown as (value: unknown) => string)
