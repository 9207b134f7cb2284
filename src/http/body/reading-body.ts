import type { Static, TObject } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { contractBodyReader } from '../contract-fields.ts'
import { requireJsonType } from './parsers.ts'

/** Makes the hooks of a route that takes a JSON object, before it is validated. Its fields have the exact spelling of the schema. */
export function readingBody<Schema extends TObject>({ properties }: Schema) {
  const read = contractBodyReader(Object.keys(properties), 'exact')
  return {
    onRequest: requireJsonType,
    preValidation: async (request: FastifyRequest<{ Body: Static<Schema> }>) => {
      request.body = read(request.body) as Static<Schema>
    },
  }
}
