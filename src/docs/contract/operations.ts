import type { Media, Operation, Parameter } from './answers.ts'
import type { RouteSchema } from './errors.ts'
import type { Schema } from './examples.ts'

/** What TypeBox and Fastify write and the contract says otherwise. */
interface Written extends Schema {
  readonly patternProperties?: Readonly<Record<string, Schema>>
  /** The media types of an answer that is not JSON. */
  readonly content?: Readonly<Record<string, Media>>
}

export type Copy = (schema: object) => Written

/** What the schema of a route says about its operation. `finishContract` adds credentials, refusals and examples. */
export function operationOf(route: RouteSchema, operationId: string, copy: Copy): Operation {
  const { summary = '', tags = [], description, querystring, params, headers, body, response = {} } = route
  const { consumes = ['application/json'], security = [] } = route
  const parametersOf = (place: string, schema: object = {}): Parameter[] => {
    const { properties = {}, required = [] } = copy(schema)
    return Object.entries(properties).map(([name, { description: text, ...shape }]) => ({
      schema: shape,
      in: place,
      name,
      ...(required.includes(name) && { required: true }),
      ...(text !== undefined && { description: text }),
    }))
  }
  const parameters = [
    ...parametersOf('query', querystring),
    ...parametersOf('path', params),
    // Credentials are described elsewhere.
    ...parametersOf('header', headers).filter(({ name }) => !security.some((scheme) => name in scheme)),
  ]
  const answers = Object.entries(response as Record<string, object>).map(([status, schema]) => {
    const { content, description: text = '', examples: [example] = [], ...shape } = copy(schema)
    const json = { 'application/json': { schema: shape, ...(example !== undefined && { example }) } }
    return [status, { description: text, headers: {}, content: content ?? json }] as const
  })
  return {
    operationId,
    summary,
    tags,
    ...(description !== undefined && { description }),
    ...(body && { requestBody: bodyOf(copy(body), consumes) }),
    ...(parameters.length > 0 && { parameters }),
    responses: Object.fromEntries(answers),
  }
}

const bodyOf = ({ description, ...schema }: Schema, consumes: readonly string[]) => ({
  required: schema.default === undefined,
  content: Object.fromEntries(consumes.map((type) => [type, { schema }])),
  ...(description !== undefined && { description }),
})

/**
 * Makes a function that copies a schema for the contract: a choice of constants becomes an `enum`, and a value that may be null has two
 * types. What several schemas share is copied once.
 */
export function copier(): Copy {
  const copies = new Map<object, object>()
  const copyOf = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part
    const known = copies.get(part)
    if (known !== undefined) return known
    const copy = Array.isArray(part)
      ? part.map(copyOf)
      : plain(Object.fromEntries(Object.entries(part).map(([key, value]) => [key, copyOf(value)])))
    copies.set(part, copy)
    return copy
  }
  return (schema) => copyOf(schema) as Written
}

function plain(copy: Written): Written {
  const { const: constant, patternProperties, anyOf, ...others } = copy
  if (constant !== undefined) return { ...others, enum: [constant] }
  if (patternProperties) return { ...others, additionalProperties: Object.values(patternProperties)[0] }
  const [first, second] = anyOf ?? []
  if (anyOf?.every(({ type, enum: values }) => type === first?.type && values?.length === 1)) {
    return { ...others, ...(first?.type && { type: first.type }), enum: anyOf.flatMap((schema) => schema.enum) }
  }
  const isNullable = anyOf?.length === 2 && second?.type === 'null' && first?.title === undefined
  if (!isNullable || typeof first?.type !== 'string' || first.enum || first.properties) return copy
  const description = [first.description, others.description].filter((text) => text !== undefined).join('. ')
  return { ...first, ...others, ...(description && { description }), type: [first.type, 'null'] }
}
