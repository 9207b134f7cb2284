import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { contractBodyReader } from '../contract-fields.ts'
import { wanted } from '../validation-problems.ts'
import { requireJsonType } from './parsers.ts'

/** Makes the hooks of a route that takes a JSON object, before it is validated. Its fields have the exact spelling of the schema. */
export function readingBody<Schema extends TObject>({ properties }: Schema) {
  const read = contractBodyReader(Object.keys(properties), 'exact')
  const lists = Object.entries(properties).flatMap(([name, schema]) => {
    const most = mostItems(schema)
    return most === undefined ? [] : [{ name, most, message: `must be ${wanted(schema)}` }]
  })
  return {
    onRequest: requireJsonType,
    preValidation: async (request: FastifyRequest<{ Body: Static<Schema> }>) => {
      const body = read(request.body) as Static<Schema>
      // The validator would describe each item of a long list before it says that there are too many.
      for (const { name, most, message } of lists) {
        const value: unknown = (body as Readonly<Record<string, unknown>> | null)?.[name]
        if (Array.isArray(value) && value.length > most) throw invalidRequest([{ path: `/${name}`, message }])
      }
      request.body = body
    },
  }
}

/** How many items a list may have; undefined for a schema that takes no list. */
const mostItems = ({ maxItems, anyOf = [] }: TSchema): number | undefined =>
  maxItems ?? anyOf.map(mostItems).find((most: number | undefined) => most !== undefined)
