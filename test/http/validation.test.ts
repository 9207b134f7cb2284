import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import Fastify, { type InjectOptions } from 'fastify'
import { describe, expect, it } from 'vitest'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import type { Schema } from '#src/docs/contract/examples.ts'
import { schemaController, validationProblems } from '#src/http/validation.ts'
import { systemRandom } from '#src/lib/random.ts'
import { failure } from '../support/app/failure.ts'
import { operating } from '../support/app/operating.ts'
import { addCustomer, LOGIN, PASSWORD, requestSchemas, testApp } from '../support/app/test-app.ts'
import { published } from '../support/docs/contract.ts'

const service = await testApp()
const { app, store, customers, clock, login } = service
const { email } = await addCustomer(service, { authority: ['*'] })
const { key } = await createApiKeys({ store, customers, clock, random: systemRandom }).issue(email, '')
const { Token } = (await login({ Email: email, Password: PASSWORD })).json().data

/** Bytes of a refusal in the validator's own words, or in a shape that only programmers know. */
const JARGON =
  /required property|must NOT|must match|querystring|instancePath|schema|pattern|must be (?:integer|object|string|array|null|equal|<|>)|undefined/

const operations = Object.entries(published.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

const WRONG_TEXTS = ['', 'x x', '-1', '1.5', '99999', 'Å', '%00']
const WRONG_VALUES = [null, 1, -1, 1.5, true, '', 'x', [], {}]

function wrongRequests({ path, method, operation }: (typeof operations)[number]): InjectOptions[] {
  const { parameters = [], requestBody } = operation
  const base = {
    method: method.toUpperCase() as 'GET',
    url: path.replaceAll(/\{\w+\}/g, 'x'),
    headers: { authorization: `Bearer ${Token}`, ApiKey: key, 'content-type': 'application/json' },
  }
  if (path === LOGIN) Object.assign(base, { headers: { 'content-type': 'application/json' } })
  const queries = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.name !== 'wait')
    .flatMap(({ name }) => [
      ...WRONG_TEXTS.map((text) => `${name}=${encodeURIComponent(text)}`),
      `${name}=1&${name}=2`,
      `${name}x=1`,
    ])
  const headers = parameters
    .filter((parameter) => parameter.in === 'header' && parameter.name !== 'ApiKey')
    .flatMap(({ name }) => WRONG_TEXTS.map((text) => ({ ...base.headers, [name]: text.replace('Å', '\xc5') })))
  const { properties = {} } = requestBody?.content['application/json']?.schema ?? {}
  const names = Object.keys(properties)
  const bodies =
    requestBody === undefined
      ? []
      : [...WRONG_VALUES, ...names.flatMap((name) => WRONG_VALUES.map((value) => ({ [name]: value })))]
  return [
    ...queries.map((query) => ({ ...base, url: `${base.url}?${query}` })),
    ...headers.map((sent) => ({ ...base, headers: sent, ...(requestBody && { payload: '{}' }) })),
    ...bodies.map((body) => ({ ...base, payload: JSON.stringify(body) })),
  ]
}

it('every schema of a request compiles, which the service finds out with the first value for it', () => {
  const ajv = addFormats.default(new Ajv({ allowUnionTypes: true }))
  for (const schema of requestSchemas) expect(ajv.compile(schema)).toBeTypeOf('function')
  expect(requestSchemas.size).toBeGreaterThan(30)
})

/** Texts that a parameter of a query does not take, by what the contract says of it. */
function refusedTexts({ name, schema }: { readonly name: string; readonly schema: Schema }): string[] {
  const { type, minimum = 0, maximum = 0, maxLength } = schema as Schema & { readonly maxLength?: number }
  if (type === 'integer') return [String(minimum - 1), String(maximum + 1), '1.5', '1.0', ' 1', 'many']
  if (type === 'boolean') return ['1', 'TRUE']
  if (schema.enum) return ['none-of-them', `${schema.enum[0]}!`]
  if (schema.pattern === undefined && maxLength) return ['a'.repeat(maxLength + 1)]
  if (schema.pattern) return ['x', '\0', "'"]
  if (name === 'from' || name === 'to') return ['soon', '2026-11-21T09:00:00', '2026-02-30']
  return name === 'address' ? ['203.0.113', '203.0.113.0/33', '1.2.3.4,5.6.7.8'] : []
}

/** Also those that every object of JavaScript has. */
const UNKNOWN = ['unheard-of', '__proto__', 'constructor', 'toString', 'hasOwnProperty']

/** Values that a property of a body takes only if it is of that type. */
const OF_EVERY_TYPE = { null: null, number: -7.5, string: '\0', boolean: true, array: [[]], object: { a: 1 } }

describe('a request', async () => {
  const { token } = await operating(service)
  const errorsOf = async ({ path, method }: (typeof operations)[number], query: string, body?: object) => {
    const url = `${path.replaceAll(/\{\w+\}/g, 'x')}${query}`
    const headers = path.startsWith('/Supplier/') || path.startsWith('/Purchase/update') ? { ApiKey: key } : {}
    const answer = await app.inject({
      method: method.toUpperCase() as 'GET',
      url,
      headers: path === LOGIN ? {} : { authorization: `Bearer ${'ApiKey' in headers ? Token : token}`, ...headers },
      ...(body && { payload: body }),
    })
    const { errorCode, errors } = answer.json()
    expect([query, body, answer.statusCode, errorCode]).toEqual([query, body, 400, 'INVALID_REQUEST'])
    return (errors as { path: string }[]).map((error) => error.path)
  }
  const takesQuery = ({ path, operation }: (typeof operations)[number]) =>
    /^\/(?:Purchase|Supplier)\/deliver/.test(path) || operation.parameters?.some((each) => each.in === 'query')
  const reading = operations.filter((each) => each.method === 'get' && takesQuery(each))
  const changing = operations.filter(
    ({ path, operation }) => operation.requestBody && !path.startsWith('/Purchase/update'),
  )

  it.each(reading)(
    'of $path with a parameter that is wrong, unknown or sent twice is refused, and it is named',
    async (each) => {
      const { parameters = [] } = each.operation
      for (const parameter of parameters.filter((one) => one.in === 'query')) {
        const { name } = parameter
        const twice = `${name}=1&${name}=1`
        for (const query of [...refusedTexts(parameter).map((text) => `${name}=${encodeURIComponent(text)}`), twice])
          expect(await errorsOf(each, `?${query}`), query).toContain(`query/${name}`)
      }
      for (const name of UNKNOWN)
        for (const value of ['1', ''])
          expect(await errorsOf(each, `?${name}=${value}`), name).toEqual([`query/${name}`])
    },
  )

  it.each(reading)('of $path has parameters in any letter case, and an empty one counts as not sent', async (each) => {
    const { parameters = [] } = each.operation
    for (const { name } of parameters.filter((one) => one.in === 'query')) {
      const other = name.toUpperCase()
      expect(await errorsOf(each, `?${name}=1&${other}=1`), other).toEqual([`query/${name}`])
      for (const empty of [name, other])
        expect(await errorsOf(each, `?${empty}=&unheard-of=1`), empty).toEqual(['query/unheard-of'])
    }
  })

  it.each(changing)(
    'of $path with a field that is unknown, missing or wrong is refused, and it is named',
    async (each) => {
      const { properties = {}, required = [] } = each.operation.requestBody?.content['application/json']?.schema ?? {}
      // A login may have fields that other services know.
      if (each.path !== LOGIN) expect(await errorsOf(each, '', { 'unheard-of': 1 })).toContain('/unheard-of')
      for (const name of required) expect(await errorsOf(each, '', {})).toContain(`/${name}`)
      for (const [name, schema] of Object.entries(properties)) {
        const kinds = schema.anyOf ?? [schema]
        const types = kinds.flatMap(({ type, const: one }) => type ?? (one === null ? 'null' : typeof one))
        const ofOtherTypes = Object.entries(OF_EVERY_TYPE).filter(([type]) => !types.includes(type))
        const beyond = kinds.flatMap(({ minimum = Infinity, maximum = -Infinity }) =>
          [minimum - 1, maximum + 1].filter(Number.isFinite),
        )
        for (const value of [...ofOtherTypes.map(([, other]) => other), ...beyond])
          expect((await errorsOf(each, '', { [name]: value })).join(), `${name}: ${value}`).toContain(`/${name}`)
      }
    },
  )
})

describe('a refusal of what was sent', () => {
  it.each(operations)('to $method $path is in plain words', async (operation) => {
    for (const request of wrongRequests(operation)) {
      const { payload, statusCode } = await app.inject(request)
      if (statusCode !== 400) continue
      expect(payload, JSON.stringify(request)).not.toMatch(JARGON)
      for (const { message } of JSON.parse(payload).errors ?? []) expect(message).toMatch(/^(?:is|must) [a-z]/)
    }
  })

  it.each([
    ['status=9', 'query/status', 'must be a whole number from 0 to 3'],
    ['status=x', 'query/status', 'must be a whole number from 0 to 3'],
    ['status=1&Status=2', 'query/status', 'is sent more than once'],
    ['statsu=1', 'query/statsu', 'is not known; did you mean status?'],
    [
      'nothing-like-it=1',
      'query/nothing-like-it',
      'is not known; the parameters are status, orderId, product, from, to, order, customer, limit, cursor',
    ],
  ])('names ?%s as %s that %s', async (query, path, message) => {
    const headers = { authorization: `Bearer ${Token}` }
    const answer = await app.inject({ url: `/Purchase/list?${query}`, headers })
    expect([answer.statusCode, answer.json()]).toEqual([
      400,
      failure('INVALID_REQUEST', {
        message: `The request is not valid: ${path} ${message}.`.replace('?.', '?'),
        errors: [{ path, message }],
      }),
    ])
  })

  it('names the choices of a parameter', async () => {
    const headers = { authorization: `Bearer ${Token}` }
    const answer = await app.inject({ url: '/Purchase/feed?payload=some', headers })
    expect(answer.json().errors).toEqual([{ path: 'query/payload', message: 'must be one of full, none' }])
  })

  it.each([
    [[], {}, '', 'must be a JSON object'],
    [{ Email: 'a@b.co', Password: '' }, {}, '/Password', 'must not be empty'],
    [{ Email: 'a@b.co' }, {}, '/Password', 'is required'],
    [{ Email: 'a@b.co', Password: 1 }, {}, '/Password', 'must be a string'],
    [{ Email: 'a@b.co', Password: 'x', callbackData: 1 }, {}, '/callbackData', 'must be a string or null'],
    [
      { Email: 'a@b.co', Password: 'x' },
      { 'h-region-code': 'TUR' },
      'headers/h-region-code',
      'must be two letters, such as TR',
    ],
  ])('names what is wrong in the login %j %j: %s %s', async (body, headers, path, message) => {
    const answer = await login(body, { headers })
    expect(answer.json()).toEqual(
      failure('INVALID_REQUEST', {
        message: `The request is not valid: ${path || 'the body'} ${message}.`,
        errors: [{ path, message }],
      }),
    )
  })
})

it('a body with many mistakes costs the words for 20 of them', () => {
  let asked = 0
  const parentSchema = {
    get type() {
      asked++
      return 'string'
    },
  }
  const mistake = { keyword: 'type', instancePath: '/Email', params: {}, schemaPath: '#/type', parentSchema }
  const error = Object.assign(new Error('wrong'), { validation: Array(1000).fill(mistake) })
  const problems = validationProblems(error as never)
  expect(problems).toEqual(Array(20).fill({ path: '/Email', message: 'must be a string' }))
  expect(asked).toBeLessThan(100)
})

it('the first values for a schema, which wait for the validator, are judged each by itself', async () => {
  const app = Fastify({ schemaController })
  app.get('/', { schema: { querystring: { type: 'object', required: ['a'] } } }, async () => 'fine')
  await app.ready()
  const answers = await Promise.all(['/', '/?a=1', '/', '/?a=1'].map((url) => app.inject(url)))
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([400, 200, 400, 200])
})
