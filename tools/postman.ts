import { STATUS_CODES } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import {
  codesOf,
  invalidExample,
  type Media,
  type OpenApi,
  type Operation,
  type Parameter,
} from '#src/docs/contract/answers.ts'
import { exampleOf } from '#src/docs/contract/examples.ts'
import { isForOperators } from '#src/docs/contract/page.ts'

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
const FOR_OPERATORS: Readonly<Record<string, string>> = { Email: '{{$guid}}@example.com', Customer: '{{email}}' }

/** Runs after every request. (Postman's sandbox has a variable `data` of its own.) */
const SCRIPT = `const path = pm.request.url.getPath()
pm.test('the status is that of a success, or 404 if the refused body was not kept', () => {
  if (!path.includes('/refusal/') || pm.response.code !== 404) pm.expect(pm.response.code).to.be.within(200, 299)
})
pm.test('the answer names its request', () => pm.response.to.have.header('x-request-id'))
const isJson = /^application.json/.test(pm.response.headers.get('content-type') ?? '')
if (isJson && pm.response.code < 300 && !path.endsWith('/payload') && !/^\\/(\\.well-known|openapi)\\b/.test(path)) {
  const answer = pm.response.json()
  pm.test('the answer is a success envelope', () => {
    pm.expect(answer).to.have.all.keys('data', 'success', 'message')
    pm.expect(answer.success).to.equal(true)
    pm.expect(answer.message).to.equal('OK')
  })
  // For later requests. TESLIM_LOGIN_ANSWER decides the spelling of the token.
  const { Token, token, OrderID, ReceiptID, Customer, Key, Endpoint } = answer.data ?? {}
  const kept = {
    token: Token ?? token,
    orderId: OrderID,
    receiptId: ReceiptID,
    customerId: Customer?.CustomerID,
    keyId: Key?.KeyID,
    endpointId: Endpoint?.EndpointID,
  }
  for (const [name, value] of Object.entries(kept)) if (value !== undefined) pm.environment.set(name, value)
}`

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
  return {
    info: {
      _postman_id: ID,
      name: document.info.title,
      description: document.info.description,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    event: [{ listen: 'test', script: { type: 'text/javascript', exec: SCRIPT.split('\n') } }],
    item: document.tags.map(({ name, description }) => {
      const own = places
        .filter(({ operation }) => operation.tags[0] === name)
        .sort((one, other) => orderOf(one) - orderOf(other))
      const auth = usualCredentials(own)
      return { name, description, auth, item: own.map((place) => item(document, place, auth)) }
    }),
  }
}

/** What most requests of a folder send: they take it from there. */
function usualCredentials(places: readonly Place[]) {
  const byText = Map.groupBy(places, ({ operation }) => JSON.stringify(credentials(operation)))
  const [[usual] = ['']] = [...byText].sort(([, some], [, others]) => others.length - some.length)
  return JSON.parse(usual) as ReturnType<typeof credentials>
}

/** POST first: what it delivers or adds is read by the others. Last, what removes it. */
const orderOf = ({ method, path }: Place): number => (path.endsWith('/remove') ? 2 : method === 'POST' ? 0 : 1)

function item(document: OpenApi, place: Place, usual: object) {
  const auth = credentials(place.operation)
  const request = {
    ...requestOf(place),
    ...(!isDeepStrictEqual(auth, usual) && { auth }),
  }
  const originalRequest = { method: request.method, url: request.url.raw }
  const saved = savedAnswers(document, place.operation).map(({ name, status, type, value }) => ({
    name: `${status} ${name}`,
    originalRequest,
    status: STATUS_CODES[status] ?? '',
    code: Number(status),
    header: [{ key: 'Content-Type', value: type }],
    body: typeof value === 'string' ? value : JSON.stringify(value, null, 2),
  }))
  return { name: place.operation.summary, request, response: saved }
}

/** A success and the likeliest refusal. The contract has all of them. */
function savedAnswers(document: OpenApi, operation: Operation) {
  const answers = Object.entries(operation.responses)
  const success = answers
    .filter(([status]) => status < '400')
    .flatMap(([status, { content = {} }]) =>
      Object.entries(content).map(([type, { example }]) => ({ name: 'OK', status, type, value: example })),
    )
  const refusal = answers
    .filter(([status]) => status >= '400')
    .flatMap(([status, answer]) =>
      codesOf(answer).map((name) => ({
        name,
        status,
        type: 'application/json',
        value: exampleOfRefusal(document, operation, name),
      })),
    )
  return [...success.slice(0, 1), ...refusal.slice(0, 1)]
}

const exampleOfRefusal = (document: OpenApi, operation: Operation, code: string): unknown =>
  ((code === 'INVALID_REQUEST' && invalidExample(operation)) || document.components.examples?.[code])?.value

/** Parameters that are optional because another one does as well. */
const NEEDED: Readonly<Record<string, string>> = { webhookDeliveries: 'receiptId' }

function requestOf({ path, method, operation }: Place) {
  const parameters = operation.parameters ?? []
  const needed = NEEDED[operation.operationId]
  const isNeeded = (parameter: Parameter) => ({
    ...parameter,
    required: parameter.required || parameter.name === needed,
  })
  const query = parameters.filter((parameter) => parameter.in === 'query').map((one) => entry(isNeeded(one)))
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
    ...(media && {
      body: { mode: 'raw', raw: bodyOf(operation, media), options: { raw: { language: languageOf(type) } } },
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

function bodyOf(operation: Operation, { schema, example, examples = {} }: Media): string {
  const [named] = Object.values(examples)
  const value = example ?? (named && 'value' in named ? named.value : exampleOf(schema))
  if (typeof value === 'string') return value
  const forOperators = isForOperators(operation)
  const variables = forOperators ? FOR_OPERATORS : FROM_ENVIRONMENT
  const filled = Object.entries(value as object).map(([key, inner]) => [
    key === 'Email' && !forOperators ? '{{emailField}}' : key,
    variables[key] ?? inner,
  ])
  return JSON.stringify(Object.fromEntries(filled), null, 2)
}
