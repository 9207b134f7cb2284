import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { AppError } from '#src/lib/app-error.ts'
import { createScanner, MAX_DEPTH, readJson } from '#src/lib/json/scan.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { asciiLowerCase } from '#src/lib/text.ts'
import { httpErrors } from '../http.errors.ts'
import { wanted } from '../validation.ts'

const JSON_TYPE = /^(?:application\/(?:[a-z0-9!#$&^_.+-]+\+)?json|text\/json)$/i

/** Refuses a Content-Type that is not JSON, before the body is read. */
export async function requireJsonType(request: FastifyRequest): Promise<void> {
  const essence = request.headers['content-type']?.split(';', 1)[0]?.trim() ?? ''
  if (!JSON_TYPE.test(essence)) throw new AppError(httpErrors.notJsonType)
}

/**
 * Makes a reader of JSON bodies that renames contract fields to the contract's spelling. Refuses a field sent twice, in one
 * spelling or two: another reader might take the other value.
 */
export function contractBodyReader(fields: readonly string[], fieldCase: 'any' | 'exact'): (bytes: unknown) => unknown {
  const anyCase = fieldCase === 'any'
  const scanner = createScanner(
    fields.map((field) => ({ pointer: `/${field}`, anyCase })),
    MAX_DEPTH,
  )
  const aliases = new Map(fields.map((field) => [anyCase ? asciiLowerCase(field) : field, field]))

  return (bytes) => {
    const { value, scan } = readJson(bytes, scanner)
    const repeated = fields.filter((_, index) => scan.found.filter(({ pointer }) => pointer === index).length > 1)
    if (repeated.length > 0) {
      throw invalidRequest(repeated.map((field) => ({ path: `/${field}`, message: 'is sent more than once' })))
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const named = Object.entries(value).map(([key, inner]) => {
      return [aliases.get(anyCase ? asciiLowerCase(key) : key) ?? key, inner] as const
    })
    return Object.fromEntries(named)
  }
}

/** Makes the hooks of a route that takes a JSON object, before it is validated. Its fields have the exact spelling of the schema. */
export function readingBody<Schema extends TObject>({ properties }: Schema) {
  const read = contractBodyReader(Object.keys(properties), 'exact')
  const lists = Object.entries(properties).flatMap(([name, schema]) => {
    const max = itemLimit(schema)
    return max === undefined ? [] : [{ name, max, message: `must be ${wanted(schema)}` }]
  })
  return {
    onRequest: requireJsonType,
    preValidation: async (request: FastifyRequest<{ Body: Static<Schema> }>) => {
      const body = read(request.body) as Static<Schema>
      // The validator would describe each item of a long list before it says that there are too many.
      for (const { name, max, message } of lists) {
        const value: unknown = (body as Readonly<Record<string, unknown>> | null)?.[name]
        if (Array.isArray(value) && value.length > max) throw invalidRequest([{ path: `/${name}`, message }])
      }
      request.body = body
    },
  }
}

/** How many items a list may have; undefined for a schema that takes no list. */
const itemLimit = ({ maxItems, anyOf = [] }: TSchema): number | undefined =>
  maxItems ?? anyOf.map(itemLimit).find((max: number | undefined) => max !== undefined)
