import type { TObject } from '@sinclair/typebox'
import type { Ajv, AnySchema, ValidateFunction } from 'ajv'
import type { FastifyError, FastifyInstance, FastifyServerOptions, preValidationHookHandler } from 'fastify'
import type { Problem } from '#src/lib/app-error.ts'
import { message, type Text } from '#src/lib/messages/message.ts'
import { nearest } from '#src/lib/nearest.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { asciiLowerCase } from '#src/lib/text.ts'
import { readTime } from '#src/lib/time/read-time.ts'
import { jsonLine } from './envelope.ts'

/** Makes each route read its query by its schema, except those that validate by themselves: an empty parameter is refused there. */
export function installQueryReading(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const query = route.schema?.querystring as TObject | undefined
    if (query !== undefined && route.validatorCompiler === undefined)
      route.preValidation = [queryReading(query), ...[route.preValidation ?? []].flat()]
  })
}

/**
 * Makes a hook that renames query parameters to the schema's spelling and converts whole numbers, true and false. An empty parameter counts as
 * not sent. One sent twice becomes a list, which no schema accepts.
 */
function queryReading({ properties }: TObject): preValidationHookHandler {
  const aliases = new Map(Object.keys(properties).map((name) => [asciiLowerCase(name), name]))

  return (request, _reply, done) => {
    const read = new Map<string, unknown[]>()
    for (const [sent, values] of Object.entries(request.query as Record<string, string | string[]>)) {
      const name = aliases.get(asciiLowerCase(sent)) ?? sent
      // `constructor` names something in every object.
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined
      for (const value of [values].flat()) {
        if (value === '' && property !== undefined) continue
        read.set(name, [...(read.get(name) ?? []), converted(value, property?.type)])
      }
    }
    request.query = Object.fromEntries(
      Array.from(read, ([name, values]) => [name, values.length === 1 ? values[0] : values]),
    )
    done()
  }
}

function converted(text: string, type: unknown): unknown {
  if (type === 'integer' && /^\d{1,9}$/.test(text)) return Number(text)
  return type === 'boolean' && /^(?:true|false)$/.test(text) ? text === 'true' : text
}

/** Reads the parameters `from` and `to` as milliseconds since 1970. */
export function withPeriod<Query extends { readonly from?: string; readonly to?: string }>(query: Query) {
  const { from, to, ...others } = query
  const problems: Problem[] = []
  const timeOf = (name: string, text: string | undefined): number | undefined => {
    const time = text === undefined ? undefined : readTime(text)
    if (text !== undefined && time === undefined) {
      problems.push({ path: `query/${name}`, message: message('NOT_A_TIME') })
    }
    return time
  }
  const period = { from: timeOf('from', from), to: timeOf('to', to) }
  if (problems.length > 0) throw invalidRequest(problems)
  return { ...others, ...period }
}

type Validate = ((value: unknown) => boolean | Promise<void>) & { errors?: unknown }

let ajv: Promise<Ajv> | undefined

async function loadAjv(): Promise<Ajv> {
  const [library, formats] = await Promise.all([import('ajv'), import('ajv-formats')])
  const options = {
    allErrors: true,
    allowUnionTypes: true,
    addUsedSchema: false,
    // The tests judge the schemas.
    validateSchema: false,
    // Adds the schema to each error, for the messages.
    verbose: true,
  }
  return formats.default.default(new library.default.Ajv(options))
}

/** Loads Ajv with the first value that is judged, and compiles a schema with its first value: at the start both took a fifth of it. */
function compileLate(schema: AnySchema): Validate {
  let compiled: ValidateFunction | undefined
  const first = async (value: unknown): Promise<void> => {
    try {
      ajv ??= loadAjv()
      compiled ??= (await ajv).compile(schema)
    } catch (error) {
      // Fastify would take it for a fault of the request.
      ajv = undefined
      throw Object.assign(error as Error, { statusCode: 500 })
    }
    // Rejected rather than left in `errors`, which by then may be those of another request.
    if (!compiled(value)) throw compiled.errors
  }
  const validate: Validate = (value) => {
    if (compiled === undefined) return first(value)
    const isValid = compiled(value)
    validate.errors = compiled.errors
    return isValid
  }
  return validate
}

/** Without these, Fastify loads two compilers at the start, and makes a serializer for each schema, which nothing would call. */
const compilersFactory = {
  buildSerializer: () => () => jsonLine,
  buildValidator:
    () =>
    ({ schema }: { schema: AnySchema }) =>
      compileLate(schema),
}
// The types of Fastify have room for a whole Ajv only.
export const schemaController = { compilersFactory } as unknown as NonNullable<FastifyServerOptions['schemaController']>

/** The parts of a JSON Schema that a message can be made of. */
interface Wanted {
  /** Says what a value must be, where type and limits do not. */
  readonly title?: string
  readonly type?: string | readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly anyOf?: readonly (Omit<Wanted, 'anyOf'> & { readonly const?: unknown })[]
  readonly properties?: object
}

/** The prefix of a parameter's path; fields of the body have none. */
const PLACES: Readonly<Record<string, string | undefined>> = {
  querystring: 'query',
  params: 'path',
  headers: 'headers',
}

const TYPES: Readonly<Record<string, string | undefined>> = {
  object: 'a JSON object',
  array: 'a list',
  string: 'a string',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  null: 'null',
}

/** A body may have as many errors as it has bytes. */
const MAX_PROBLEMS = 20

/** Turns the validator's first errors into plain sentences. */
export const validationProblems = ({ validation = [], validationContext = 'body' }: FastifyError): Problem[] =>
  validation
    // Drops the errors of single choices: one for the whole choice follows.
    .filter(({ schemaPath }) => !schemaPath.includes('/anyOf/'))
    .slice(0, MAX_PROBLEMS)
    .map((error) => {
      // The option `verbose` of Ajv adds these two.
      const { instancePath, keyword, params, parentSchema = {}, data } = error as typeof error & Verbose
      const path = (PLACES[validationContext] ?? '') + instancePath
      if (keyword === 'required') return { path: `${path}/${params.missingProperty}`, message: message('REQUIRED') }
      if (keyword === 'additionalProperties') {
        const name = String(params.additionalProperty)
        const known = Object.keys(parentSchema.properties ?? {})
        return { path: `${path}/${name}`, message: `is not known${hint(name, known, validationContext)}` }
      }
      if (keyword === 'minLength') return { path, message: message('EMPTY') }
      const repeated = validationContext === 'querystring' && Array.isArray(data)
      return { path, message: repeated ? message('SENT_TWICE') : mustBe(parentSchema) }
    })

/** Names the parameter that was probably meant, or else all that a query may have. */
function hint(name: string, known: readonly string[], context: string): string {
  const meant = nearest(name, known)
  if (meant !== undefined) return `; did you mean ${meant}?`
  return context === 'querystring' && known.length > 0 ? `; the parameters are ${known.join(', ')}` : ''
}

interface Verbose {
  readonly parentSchema?: Wanted
  readonly data?: unknown
}

/** Describes what a value must be: `must be a whole number from 0 to 3`. What the forms of the console may get has a code. */
export function mustBe({ title, type, minimum: min, maximum: max, anyOf }: Wanted): Text {
  if (title !== undefined) return `must be ${title}`
  const [first, second] = anyOf ?? []
  if (first?.type === 'integer' && second?.type === 'null')
    return message('NOT_A_WHOLE_NUMBER_OR_NULL', { min: first.minimum ?? '', max: first.maximum ?? '' })
  if (anyOf !== undefined) return `must be one of ${anyOf.map((choice) => choice.const).join(', ')}`
  if (min !== undefined && max !== undefined)
    return message(type === 'integer' ? 'NOT_A_WHOLE_NUMBER' : 'NOT_A_NUMBER', { min, max })
  const types = [type ?? 'object'].flat().map((name) => TYPES[name])
  return `must be ${types.join(' or ')}`
}
