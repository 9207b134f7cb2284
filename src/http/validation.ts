import type { FastifyError } from 'fastify'
import type { Problem } from '#src/lib/app-error.ts'
import { nearest } from '#src/lib/nearest.ts'

/** The parts of a JSON Schema that a message can be made of. */
interface Wanted {
  /** Says what a value must be, where type and limits do not. */
  readonly title?: string
  readonly type?: string | readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly anyOf?: readonly { readonly const?: unknown }[]
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
      // The server option `verbose` adds these two.
      const { instancePath, keyword, params, parentSchema = {}, data } = error as typeof error & Verbose
      const path = (PLACES[validationContext] ?? '') + instancePath
      if (keyword === 'required') return { path: `${path}/${params.missingProperty}`, message: 'is required' }
      if (keyword === 'additionalProperties') {
        const name = String(params.additionalProperty)
        const known = Object.keys(parentSchema.properties ?? {})
        return { path: `${path}/${name}`, message: `is not known${hint(name, known, validationContext)}` }
      }
      if (keyword === 'minLength') return { path, message: 'must not be empty' }
      const repeated = validationContext === 'querystring' && Array.isArray(data)
      return { path, message: repeated ? 'is sent more than once' : `must be ${wanted(parentSchema)}` }
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

/** Describes what a value must be: `a whole number from 0 to 3`. */
export function wanted({ title, type, minimum, maximum, anyOf }: Wanted): string {
  if (title !== undefined) return title
  if (anyOf !== undefined) return `one of ${anyOf.map((choice) => choice.const).join(', ')}`
  if (type === 'integer')
    return minimum === undefined ? 'a whole number' : `a whole number from ${minimum} to ${maximum}`
  return [type ?? 'object']
    .flat()
    .map((name) => TYPES[name])
    .join(' or ')
}
