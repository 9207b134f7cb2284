import {
  type Answer,
  codesOf,
  invalidExample,
  type Media,
  type OpenApi,
  type Operation,
  type Parameter,
} from './answers.ts'
import { RARE_CODES } from './errors.ts'
import type { Schema } from './examples.ts'

/** A row of a table of fields or parameters. What is usual is absent. */
interface Row {
  readonly name: string
  readonly type: string
  readonly description?: string
  /** How many fields it stands in. */
  readonly depth?: number
  readonly required?: boolean
  readonly optional?: boolean
  /** Where a parameter stands. */
  readonly in?: string
  readonly fallback?: string
  readonly example?: string
}

/** A field of a body or an answer. */
interface Field extends Row {
  readonly depth: number
  readonly required: boolean
}

export const OPERATOR_TAG = 'Operator'
export const WEBHOOK_TAG = 'Webhook'

/** Whether a route is for operators only. The page folds those: it is for suppliers and API customers first. */
export const isForOperators = ({ tags }: Pick<Operation, 'tags'>): boolean =>
  tags.includes(OPERATOR_TAG) || tags.includes(WEBHOOK_TAG)

/** The contract as the reference page shows it: the page only lays it out. Of what is for operators it has the tags only. */
export function referencePage(document: OpenApi) {
  const { title, version, description } = document.info
  const tags = document.tags.map(({ name, ...tag }) => ({ name, ...(isForOperators({ tags: [name] }) && tag) }))
  return { title, version, description, tags, ...pageOperations(document, (operation) => !isForOperators(operation)) }
}

/** What the reference page loads when somebody opens the routes for operators. */
export const operatorsPage = (document: OpenApi) => pageOperations(document, isForOperators)

function pageOperations(document: OpenApi, isShown: (operation: Operation) => boolean) {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => isShown(operation))
      .map(([method, operation]) => pageOperation(method.toUpperCase(), path, operation)),
  )
  const shown = new Set(operations.flatMap(({ refusals }) => refusals.flatMap(({ codes }) => codes)))
  const named = Object.entries(document.components.examples ?? {}).filter(([code]) => shown.has(code))
  const errors = Object.fromEntries(
    named.map(([code, { summary, value }]) => {
      const { message } = value as { message: string }
      return [code, { message: summary ?? message, ...(RARE_CODES.has(code) && { rare: true }) }]
    }),
  )
  const rows = sharedList<Row>()
  const codeLists = sharedList<readonly string[]>()
  const invalidRequests = sharedList<unknown>()
  const withPlaces = operations.map(({ parameters, answers, refusals, invalidRequest, ...operation }) => ({
    ...operation,
    parameters: parameters.map(rows.placeOf),
    answers: answers.map(({ fields, ...answer }) => ({ ...answer, fields: fields.map(rows.placeOf) })),
    refusals: refusals.map(({ status, codes }) => [status, codeLists.placeOf(codes)] as const),
    ...(invalidRequest !== undefined && { invalidRequest: invalidRequests.placeOf(invalidRequest) }),
  }))
  return {
    errors,
    rows: rows.values(),
    codeLists: codeLists.values(),
    invalidRequests: invalidRequests.values(),
    operations: withPlaces,
  }
}

/** A list of values that operations share. `placeOf` returns where one stands, and adds it if it is new. */
function sharedList<Value>() {
  const places = new Map<string, number>()
  return {
    placeOf(value: Value): number {
      const text = JSON.stringify(value)
      const place = places.get(text) ?? places.size
      places.set(text, place)
      return place
    },
    values: (): Value[] => Array.from(places.keys(), (text) => JSON.parse(text) as Value),
  }
}

function pageOperation(method: string, path: string, operation: Operation) {
  const { operationId: id, tags, summary, description = '', security = [], parameters = [] } = operation
  const answers = Object.entries(operation.responses)
  const [body] = Object.values(operation.requestBody?.content ?? {})
  return {
    id,
    tag: tags[0] ?? '',
    method,
    path,
    summary,
    description,
    // The first alternative is the one that suffices.
    needs: Object.keys(security[0] ?? {}),
    mayHave: Object.keys(security[1] ?? {}).filter((name) => !(name in (security[0] ?? {}))),
    parameters: parameters.map(pageParameter),
    ...(body && {
      body: {
        description: operation.requestBody?.description ?? '',
        fields: bodyFields(body.schema),
        examples: bodyExamples(body),
      },
    }),
    answers: answers.filter(([status]) => status < '400').flatMap(([status, answer]) => pageAnswers(status, answer)),
    refusals: answers
      .filter(([status]) => status >= '400')
      .map(([status, answer]) => ({ status, codes: codesOf(answer) })),
    // Its place depends on the operation.
    invalidRequest: invalidExample(operation)?.value,
  }
}

function pageParameter({ name, in: place, required = false, schema, description = '' }: Parameter): Row {
  const fallback = schema.default === undefined ? {} : { fallback: String(schema.default) }
  const example = schema.examples?.[0] === undefined ? {} : { example: String(schema.examples[0]) }
  return { name, in: place, ...(required && { required }), type: typeOf(schema), description, ...fallback, ...example }
}

/** Here and below, the page shows only what is unusual: most fields of a body are optional, and most of an answer are always there. */
const bodyFields = (schema: Schema) =>
  fieldsOf(schema).map(({ required, ...field }) => ({ ...withDepth(field), ...(required && { required }) }))

const answerFields = (schema: Schema) =>
  fieldsOf(schema).map(({ required, ...field }) => ({ ...withDepth(field), ...(!required && { optional: true }) }))

const withDepth = ({ depth, ...field }: Omit<Field, 'required'>) => ({ ...field, ...(depth > 0 && { depth }) })

const bodyExamples = ({ example, examples = {} }: Media) =>
  example === undefined
    ? Object.values(examples).flatMap((named) =>
        'value' in named ? [{ name: named.summary, value: named.value }] : [],
      )
    : [{ name: 'Example', value: example }]

const pageAnswers = (status: string, { description, content = {} }: Answer) =>
  Object.entries(content).map(([type, { schema, example }]) => {
    const data = schema.properties?.success ? schema.properties.data : undefined
    return { status, type, description, enveloped: data !== undefined, fields: answerFields(data ?? schema), example }
  })

function fieldsOf(schema: Schema, depth = 0): Field[] {
  if (schema.anyOf) return fieldsOfEither(schema.anyOf, depth)
  const properties = schema.properties ?? schema.items?.properties ?? {}
  const required = schema.required ?? schema.items?.required ?? []
  return Object.entries(properties).flatMap(([name, inner]) => [
    {
      name,
      depth,
      type: typeOf(inner),
      required: required.includes(name),
      ...(inner.description && { description: inner.description }),
    },
    ...fieldsOf(inner, depth + 1),
  ])
}

/** The fields of all alternatives; required are those that every alternative requires. */
function fieldsOfEither(alternatives: readonly Schema[], depth: number): Field[] {
  const fields = alternatives.map((schema) => fieldsOf(schema, depth))
  const isRequired = (name: string) =>
    fields.every((some) => some.length > 0 && some.some((field) => field.name === name && field.required))
  const byName = new Map(fields.flat().map((field) => [field.name, field]))
  return Array.from(byName.values(), (field) => ({ ...field, required: isRequired(field.name) }))
}

/** The type of a value in a reader's words. */
function typeOf(schema: Schema): string {
  const { type, format, anyOf, items, enum: values, minimum, maximum } = schema
  if (Array.isArray(type))
    return type.map((one) => typeOf(one === 'null' ? { type: one } : { ...schema, type: one })).join(' or ')
  if (anyOf) return anyOf.map(typeOf).join(' or ')
  if (values) return values.map((value) => JSON.stringify(value)).join(' or ')
  if (format === 'date-time') return 'time'
  if (format !== undefined) return format
  if (items) return `array of ${typeOf(items)}s`
  const named = String(type)
  if (minimum === undefined) return named
  return maximum === undefined ? `${named} from ${minimum}` : `${named} ${minimum} to ${maximum}`
}
