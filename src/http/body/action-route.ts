import type { TObject, TSchema } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { ErrorDefinition } from '#src/lib/app-error.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { contractBodyReader } from '../contract-fields.ts'
import { wanted } from '../validation-problems.ts'
import { requireJsonType } from './parsers.ts'

/** Something that operators do, as the contract describes it. */
interface Action {
  readonly summary: string
  readonly description: string
  readonly errors: readonly ErrorDefinition[]
  readonly params?: TObject
  readonly body?: TObject
  readonly bodyExamples?: Readonly<Record<string, { summary: string; value: unknown }>>
  /** The schema of its success. */
  readonly answer: TSchema
}

/** Makes schema and hooks of the route of an action: `addCustomer` of the tag `Operator` is the operation `operatorAddCustomer`. */
export function actionRoute<Route extends Action>(tag: string, name: string, { answer, ...route }: Route) {
  const { description, body } = route
  const schema = {
    ...route,
    operationId: `${tag.toLowerCase()}${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    description: body ? description : `${description} Takes no body.`,
    tags: [tag],
    // A Content-Type that cannot be read is refused even without a body.
    consumes: ['application/json'],
    response: { 200: answer as Route['answer'] },
  }
  return { schema, ...(body && readingBody(body)) }
}

/** Makes the hooks of a route that takes a JSON object, before it is validated. Its fields have the exact spelling of the schema. */
function readingBody({ properties }: TObject) {
  const read = contractBodyReader(Object.keys(properties), 'exact')
  const lists = Object.entries(properties).flatMap(([name, schema]) => {
    const most = mostItems(schema)
    return most === undefined ? [] : [{ name, most, message: `must be ${wanted(schema)}` }]
  })
  return {
    onRequest: requireJsonType,
    preValidation: async (request: FastifyRequest) => {
      const body = read(request.body)
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
