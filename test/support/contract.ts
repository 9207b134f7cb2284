import { readFileSync } from 'node:fs'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { parse } from 'yaml'
import type { OpenApi } from '../../tools/contract.ts'

export const written = readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8')
export const published = inlined(parse(written))

/** Makes a function that finds the check at a place of a contract. */
function checksOf(document: OpenApi): (pointer: string) => ValidateFunction | undefined {
  const ajv = addFormats.default(new Ajv2020({ strict: false }))
  // Answers are written as they are, so a field that the contract does not name is a violation.
  ajv.addSchema(closed(document), 'contract')
  const checks = new Map<string, ValidateFunction | undefined>()
  return (pointer) => {
    if (!checks.has(pointer)) checks.set(pointer, ajv.getSchema(`contract#/${pointer}`))
    return checks.get(pointer)
  }
}

const checksBy = new WeakMap<OpenApi, ReturnType<typeof checksOf>>()

/** What is wrong with a JSON answer by openapi.yaml, or another contract. Where that knows no such operation, a refusal must still be one. */
export function contractViolation(
  method: string,
  route: string,
  status: number,
  body: unknown,
  contract = published,
): string | undefined {
  const path = route.replaceAll(/:(\w+)/g, '{$1}')
  const operation = contract.paths[path]?.[method.toLowerCase()]
  const answer = operation?.responses[status]
  if (operation && !answer) return `${method} ${path}: status ${status} is not in the contract`
  if (answer ? answer.content['application/json'] === undefined : status < 400) return undefined
  const inAnswer = ['paths', path, method.toLowerCase(), 'responses', status, 'content', 'application/json', 'schema']
  const steps = answer ? inAnswer : ['components', 'schemas', 'Failure']
  const pointer = steps.map(asStep).join('/')
  const find = checksBy.get(contract) ?? checksOf(contract)
  checksBy.set(contract, find)
  const check = find(pointer)
  if (check?.(body)) return undefined
  return `${method} ${path}: ${status} ${JSON.stringify(body)} ${problems(check?.errors)}`
}

const DESCRIBED = /^(etag|retry-after|www-authenticate|x-request-id)$/
const DESCRIBED_WITH_ALLOWANCE = /^ratelimit-|^(etag|retry-after|www-authenticate|x-request-id)$/

/** The headers of an answer that openapi.yaml does not name at its status. Other refusals than 429 share their description, without the allowance. */
export function headerViolation(method: string, route: string, status: number, sent: object): string | undefined {
  const path = route.replaceAll(/:(\w+)/g, '{$1}')
  const answer = published.paths[path]?.[method.toLowerCase()]?.responses[status]
  const names = status < 300 || status === 429 ? DESCRIBED_WITH_ALLOWANCE : DESCRIBED
  const unknown = Object.keys(sent).filter((name) => names.test(name) && !(name in (answer?.headers ?? {})))
  if (answer === undefined || unknown.length === 0) return undefined
  return `${method} ${path}: ${status} has the headers ${unknown.join(', ')}`
}

const patterns = Object.keys(published.paths).map((path) => {
  const steps = path.split(/\{\w+\}/).map(RegExp.escape)
  return { path, pattern: new RegExp(`^${steps.join('[^/]+')}/?$`, 'i') }
})

/** The route that answers at an address, or the address itself if none does. */
export const routeOf = (address: string): string =>
  patterns.find(({ pattern }) => pattern.test(address))?.path ?? address

/** Returns a copy of a schema whose objects allow only the properties they name. The parts of an `allOf` complete each other, and stay open. */
function closed(part: unknown): object {
  if (Array.isArray(part)) return part.map((item) => (isObject(item) ? closed(item) : item))
  const entries = Object.entries(part as object).map(([name, value]) => [
    name,
    isObject(value) && name !== 'allOf' ? closed(value) : value,
  ])
  const schema = Object.fromEntries(entries)
  return schema.type === 'object' && schema.properties ? { additionalProperties: false, ...schema } : schema
}

/** The whole document that a short one was made from: what has a name stands where it is used (a schema's is its title), except `Failure`, headers and examples. */
export function inlined({ components, ...document }: OpenApi): OpenApi {
  const { schemas, responses, parameters, ...others } = components as OpenApi['components'] & Parts
  const { Failure = {}, ...named } = schemas
  const parts: Parts = { schemas: named, responses, parameters }
  const whole = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(whole)
    if (!isObject(part)) return part
    const [kind = '', name = ''] = '$ref' in part ? String(part.$ref).split('/').slice(2) : []
    const found = parts[kind as keyof Parts]?.[name]
    if (found && kind === 'schemas') return whole({ title: name, ...found })
    return found ? whole(found) : Object.fromEntries(Object.entries(part).map(([key, value]) => [key, whole(value)]))
  }
  const paths = whole(document.paths) as OpenApi['paths']
  return { ...document, components: { ...others, schemas: { Failure } }, paths }
}

type Parts = Record<'schemas' | 'responses' | 'parameters', Readonly<Record<string, object>>>

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

const asStep = (step: string | number): string =>
  encodeURIComponent(String(step).replaceAll('~', '~0').replaceAll('/', '~1'))

const problems = (errors: ErrorObject[] | null | undefined): string =>
  (errors ?? [])
    .map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`)
    .join('; ')
