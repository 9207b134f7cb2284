import { STATUS_CODES } from 'node:http'
import type { Example, Media, OpenApi, Operation, Parameter } from './contract-answers.ts'
import { exampleOf } from './contract-examples.ts'
import { isForOperators } from './contract-page.ts'
import { testsOf } from './postman-tests.ts'

export const toJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const ID = '0b6a8e0e-6f57-4b52-9a55-7e51f1a3d0c1'

/** Variables that the user fills in, and that requests keep for later ones. */
const VARIABLES = [
  { key: 'baseUrl', value: 'http://127.0.0.1:3000', type: 'default' },
  // The value of TESLIM_LOGIN_EMAIL_FIELD.
  { key: 'emailField', value: 'Email', type: 'default' },
  { key: 'email', value: '', type: 'default' },
  { key: 'password', value: '', type: 'secret' },
  { key: 'apiKey', value: '', type: 'secret' },
  { key: 'token', value: '', type: 'secret' },
  // The token of an operator with all rights, from a login as one.
  { key: 'operatorToken', value: '', type: 'secret' },
  { key: 'orderId', value: '', type: 'default' },
  { key: 'receiptId', value: '', type: 'default' },
  { key: 'customerId', value: '', type: 'default' },
  { key: 'keyId', value: '', type: 'default' },
  { key: 'endpointId', value: '', type: 'default' },
]

export const postmanEnvironment = {
  id: '6f3d2c1a-9be4-4c1d-8a27-52c0a9b7e4d2',
  name: 'teslim',
  values: VARIABLES.map((variable) => ({ ...variable, enabled: true })),
  _postman_variable_scope: 'environment',
}

/** Body fields and path parameters that take a variable. */
const FROM_ENVIRONMENT: Readonly<Record<string, string>> = {
  Email: '{{email}}',
  Password: '{{password}}',
  orderId: '{{orderId}}',
  receiptId: '{{receiptId}}',
  customerId: '{{customerId}}',
  keyId: '{{keyId}}',
  endpointId: '{{endpointId}}',
}

/** Body fields of operators' requests that take a variable instead: each customer has an address of its own. */
const FOR_OPERATORS: Readonly<Record<string, string>> = { Email: '{{$guid}}@example.com' }

interface Place {
  readonly path: string
  readonly method: string
  readonly operation: Operation
}

/** Converts the contract to a Postman collection v2.1: one folder per tag, each request after those it depends on. */
export function postmanCollection(document: OpenApi) {
  const places = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Place => ({ path, method: method.toUpperCase(), operation })),
  )
  const folder = ({ name, description }: OpenApi['tags'][number]) => ({
    name,
    description,
    item: places
      .filter(({ operation }) => operation.tags[0] === name)
      .sort((one, other) => orderOf(one) - orderOf(other))
      .map((place) => item(document, place)),
  })
  return {
    info: {
      _postman_id: ID,
      name: document.info.title,
      description: document.info.description,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    item: document.tags.map(folder),
  }
}

/** POST first: what it delivers or adds is read by the others. Last, what removes it. */
const orderOf = ({ method, path }: Place): number => (path.endsWith('/remove') ? 2 : method === 'POST' ? 0 : 1)

function item(document: OpenApi, place: Place) {
  const request = requestOf(document, place)
  return {
    name: place.operation.summary,
    event: [{ listen: 'test', script: { type: 'text/javascript', exec: testsOf(document, place.operation) } }],
    request,
    response: Object.entries(place.operation.responses).flatMap(([status, { content }]) =>
      Object.entries(content).flatMap(([type, media]) =>
        answersOf(document, media).map(([name, value]) => ({
          name: `${status} ${name}`,
          originalRequest: request,
          status: STATUS_CODES[status] ?? '',
          code: Number(status),
          _postman_previewlanguage: type === 'application/json' ? 'json' : 'text',
          header: [{ key: 'Content-Type', value: type }],
          cookie: [],
          body: typeof value === 'string' ? value : JSON.stringify(value, null, 2),
        })),
      ),
    ),
  }
}

function answersOf(document: OpenApi, { example, examples = {} }: Media): (readonly [string, unknown])[] {
  if (example !== undefined) return [['OK', example]]
  return Object.entries(examples).map(([name, given]) => {
    const found = '$ref' in given ? document.components.examples?.[given.$ref.split('/').at(-1) ?? ''] : given
    return [name, (found as Example | undefined)?.value] as const
  })
}

function requestOf(document: OpenApi, { path, method, operation }: Place) {
  const parameters = operation.parameters ?? []
  const query = parameters.filter((parameter) => parameter.in === 'query').map(entry)
  const segments = path.slice(1).split('/')
  const variable = parameters.filter((parameter) => parameter.in === 'path').map(entry)
  const steps = segments.map((segment) => segment.replace(/^\{(.+)\}$/, ':$1'))
  const [type = '', media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  const header = parameters.filter((parameter) => parameter.in === 'header').map(entry)
  return {
    method,
    description: operation.description ?? operation.summary,
    url: {
      raw: `{{baseUrl}}/${steps.join('/')}`,
      host: ['{{baseUrl}}'],
      path: steps,
      ...(query.length > 0 && { query }),
      ...(variable.length > 0 && { variable }),
    },
    header: [...(media ? [{ key: 'Content-Type', value: type }] : []), ...header],
    auth: credentials(operation),
    ...(media && {
      body: { mode: 'raw', raw: bodyOf(document, operation, media), options: { raw: { language: languageOf(type) } } },
    }),
  }
}

/** Enables required parameters; the user enables optional ones. */
function entry({ name, required = false, schema }: Parameter) {
  const value = FROM_ENVIRONMENT[name] ?? String(schema.default ?? schema.examples?.[0] ?? '')
  return { key: name, value, ...(!required && { disabled: true }) }
}

function credentials(operation: Operation) {
  const [first] = operation.security ?? []
  if (first && 'ApiKey' in first) {
    const values = { key: 'ApiKey', value: '{{apiKey}}', in: 'header' }
    return { type: 'apikey', apikey: Object.entries(values).map(([key, value]) => ({ key, value, type: 'string' })) }
  }
  const token = isForOperators(operation) ? '{{operatorToken}}' : '{{token}}'
  if (first) return { type: 'bearer', bearer: [{ key: 'token', value: token, type: 'string' }] }
  return { type: 'noauth' }
}

const languageOf = (type: string): string => (type === 'application/json' ? 'json' : 'text')

function bodyOf(document: OpenApi, operation: Operation, { schema, example, examples = {} }: Media): string {
  const [named] = Object.values(examples)
  const resolve = (ref: string) => document.components.schemas[ref.split('/').at(-1) ?? ''] ?? {}
  const value = example ?? (named && 'value' in named ? named.value : exampleOf(schema, resolve))
  if (typeof value === 'string') return value
  const forOperators = isForOperators(operation)
  const variables = forOperators ? FOR_OPERATORS : FROM_ENVIRONMENT
  const filled = Object.entries(value as object).map(([key, inner]) => [
    key === 'Email' && !forOperators ? '{{emailField}}' : key,
    variables[key] ?? inner,
  ])
  return JSON.stringify(Object.fromEntries(filled), null, 2)
}
