export interface Schema {
  readonly $ref?: string
  readonly title?: string
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly pattern?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: unknown
}

const BY_FORMAT: Readonly<Record<string, string>> = {
  uuid: '01a1fd40-d147-7681-8dbc-9e73fe5b8d5f',
  'date-time': '2026-11-21T08:37:25.959Z',
}

/** Builds a value that fits a schema from the `examples` of its fields. */
export function exampleOf(schema: Schema): unknown {
  for (const value of [schema.examples?.[0], schema.const, schema.enum?.[0], schema.default]) {
    if (value !== undefined) return value
  }
  if (schema.anyOf?.[0]) return exampleOf(schema.anyOf[0])
  switch ([schema.type].flat()[0]) {
    case 'object': {
      const fields = Object.entries(schema.properties ?? {})
      // Optional lists, such as Warnings, and optional flags, such as Erased, are absent from an ordinary answer.
      const usual = fields.filter(([name, field]) => schema.required?.includes(name) || !isUnusual(field))
      return Object.fromEntries(usual.map(([name, field]) => [name, exampleOf(field)]))
    }
    case 'array':
      return schema.items ? [exampleOf(schema.items)] : []
    case 'integer':
    case 'number':
      return schema.minimum ?? 1
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return BY_FORMAT[schema.format ?? ''] ?? 'text'
  }
}

const isUnusual = ({ items, type, default: fallback }: Schema): boolean =>
  items !== undefined || (type === 'boolean' && fallback === undefined)

/** Lists the text fields without an example of their own: `exampleOf` has nothing meaningful for them. */
export function withoutExamples(schema: Schema, path = ''): string[] {
  const { examples, const: constant, enum: values, default: fallback } = schema
  if ([examples?.[0], constant, values?.[0], fallback].some((value) => value !== undefined)) return []
  if (schema.anyOf?.[0]) return withoutExamples(schema.anyOf[0], path)
  switch ([schema.type].flat()[0]) {
    case 'object':
      return Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
        withoutExamples(field, `${path}/${name}`),
      )
    case 'array':
      return schema.items ? withoutExamples(schema.items, `${path}/*`) : []
    case 'string':
      return BY_FORMAT[schema.format ?? ''] === undefined ? [path || '/'] : []
    default:
      return []
  }
}
