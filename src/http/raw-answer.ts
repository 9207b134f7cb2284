import type { FastifyReply } from 'fastify'
import { writeJson } from '#src/lib/json/raw.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** For an answer with raw values in it, which Fastify's own serializer would not let through. It takes bytes as well as text. */
export const answerRaw = (reply: FastifyReply): void =>
  void reply.type(JSON_TYPE).serializer(writeJson as (value: unknown) => unknown as (value: unknown) => string)
