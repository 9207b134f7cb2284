import type { FastifyReply } from 'fastify'
import { writeJson } from '#src/lib/json/raw.ts'

type Serializer = Parameters<FastifyReply['serializer']>[0]

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Lets an answer hold raw JSON, which Fastify's own serializer cannot write. */
export const answerRaw = (reply: FastifyReply): void =>
  void reply.type(JSON_TYPE).serializer(((value: unknown) => writeJson(value, '\n')) as unknown as Serializer)
