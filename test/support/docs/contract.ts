import { readFileSync } from 'node:fs'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { parse } from 'yaml'
import type { Answer, OpenApi, Operation } from '../../../tools/contract.ts'

export const written = readFileSync(new URL('../../../openapi.yaml', import.meta.url), 'utf8')
export const published = inlined(parse(written))

const newAjv = () => addFormats.default(new Ajv2020({ strict: false }))
const ajv = newAjv()
const judges = new WeakMap<OpenApi, (pointer: string) => ValidateFunction | undefined>()

/** The check by what stands at a place of a contract. */
function checkAt(pointer: string, contract: OpenApi): ValidateFunction | undefined {
  const judge = judges.get(contract) ?? judgeBy(contract)
  judges.set(contract, judge)
  return judge(pointer)
}

function judgeBy(contract: OpenApi): (pointer: string) => ValidateFunction | undefined {
  // Answers are written as they are, so a field that the contract does not name is a violation.
  const compiler = newAjv().addSchema(closed(contract), 'contract')
  const checks = new Map<string, ValidateFunction | undefined>()
  return (pointer) => {
    if (!checks.has(pointer)) checks.set(pointer, compiler.getSchema(`contract#/${pointer}`))
    return checks.get(pointer)
  }
}

/** What is wrong with a JSON answer by openapi.yaml, or another contract. Where that knows no such operation, a refusal must still be one. */
export function contractViolation(
  method: string,
  route: string,
  status: number,
  body: unknown,
  contract = published,
): string | undefined {
  const path = route.replaceAll(/:(\w+)/g, '{$1}')
  const asked = method === 'HEAD' ? 'get' : method.toLowerCase()
  const operation = contract.paths[path]?.[asked]
  const answer = operation?.responses[status]
  if (operation && !answer) return `${method} ${path}: status ${status} is not in the contract`
  if (answer ? answer.content?.['application/json'] === undefined : status < 400) return undefined
  const inAnswer = ['paths', path, asked, 'responses', status, 'content', 'application/json', 'schema']
  const steps = answer ? inAnswer : ['components', 'schemas', 'Failure']
  const pointer = steps.map(asStep).join('/')
  const check = checkAt(pointer, contract)
  if (check?.(body)) return undefined
  return `${method} ${path}: ${status} ${JSON.stringify(body)} ${problems(check?.errors)}`
}

/** What is wrong with a message to an endpoint by openapi.yaml. */
export function messageViolation(body: unknown, headers: Headers): string | undefined {
  const pointer = 'webhooks/message/post'
  const { parameters } = (published.webhooks as { message: { post: Operation } }).message.post
  const wrong = parameters?.filter(({ name, schema }) => !ajv.validate(schema, headers[name] ?? null)) ?? []
  const check = checkAt(`${pointer}/requestBody/content/application~1json/schema`, published)
  if (check?.(body) && wrong.length === 0) return undefined
  return `${wrong.map(({ name }) => `${name}: ${headers[name]}`)} ${JSON.stringify(body)} ${problems(check?.errors)}`
}

interface Header {
  readonly required?: boolean
  readonly schema: { readonly type: string }
}

const DESCRIBED = /^(allow|etag|ratelimit-.*|retry-after|www-authenticate|x-request-id)$/

/** What is wrong with the headers of an answer by openapi.yaml. At an address that it does not know, those of another refusal with this status count. */
export function headerViolation(method: string, route: string, status: number, sent: Headers): string | undefined {
  const path = route.replaceAll(/:(\w+)/g, '{$1}')
  const operation = published.paths[path]?.[method === 'HEAD' ? 'get' : method.toLowerCase()]
  const answer = operation ? operation.responses[status] : refusalWith(status)
  if (answer === undefined) return undefined
  const described = Object.entries(answer.headers).map(([name, { $ref }]) => [name, headerOf($ref)] as const)
  const wrong = described.flatMap(([name, { required, schema }]) => {
    const value = sent[name]
    if (value === undefined) return required ? [`has no ${name}`] : []
    const isNumber = schema.type === 'integer' && /^\d+$/.test(String(value))
    return ajv.validate(schema, isNumber ? Number(value) : value) ? [] : [`has ${name}: ${value}`]
  })
  const unknown = Object.keys(sent).filter((name) => DESCRIBED.test(name) && !(name in answer.headers))
  const all = [...wrong, ...unknown.map((name) => `has ${name}, which is not described`)]
  return all.length === 0 ? undefined : `${method} ${path}: ${status} ${all.join('; ')}`
}

type Headers = Readonly<Record<string, unknown>>

const headerOf = ($ref: string): Header => published.components.headers?.[$ref.split('/').at(-1) ?? ''] as Header

const refusalWith = (status: number): Answer | undefined =>
  Object.values(published.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ responses }) => (status < 400 ? [] : (responses[status] ?? [])))[0]

const patterns = Object.keys(published.paths).map((path) => {
  const steps = path.split(/\{\w+\}/).map(RegExp.escape)
  return { path, pattern: new RegExp(`^${steps.join('[^/]+')}/?$`, 'i') }
})

/** The route that answers at an address, or the address itself if none does. */
export const routeOf = (address: string): string =>
  patterns.find(({ pattern }) => pattern.test(address))?.path ?? address

/** Returns a copy of a schema whose objects allow only the properties they name. The parts of an `allOf` complete each other, and stay open. */
export function closed(part: unknown): object {
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
  return {
    ...document,
    components: { ...others, schemas: { Failure } },
    paths,
    webhooks: whole(document.webhooks) as object,
  }
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
