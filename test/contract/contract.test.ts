import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { Operation } from '#src/docs/contract/answers.ts'
import { TEXTS } from '#src/docs/contract/contract.ts'
import { type Schema, withoutExamples } from '#src/docs/contract/examples.ts'
import { isForOperators } from '#src/docs/contract/page.ts'
import { httpErrors } from '#src/http/http.errors.ts'
import { contract } from '../../tools/contract.ts'
import { anyText } from '../support/any-text.ts'
import { operating } from '../support/app/operating.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { PASSWORD, testApp } from '../support/app/test-app.ts'
import { contractViolation, published, written } from '../support/docs/contract.ts'
import { webhook } from '../support/store/store-rows.ts'

const file = new URL('../../openapi.yaml', import.meta.url)
const operations = Object.entries(published.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

describe('openapi.yaml', () => {
  it('is what the registered routes say', async () => {
    expect(written, 'run npm run openapi').toBe(await TEXTS.yaml(await contract()))
  })

  it('takes at most 120 lines for an operation', () => {
    expect(written.split('\n').length / operations.length).toBeLessThan(120)
  })

  it('begins with the login and the delivery, then has the operations of each tag together', () => {
    const tags = operations.map(({ operation }) => operation.tags[0])
    expect(operations.slice(0, 2).map(({ operation }) => operation.operationId)).toEqual(['login', 'purchaseUpdate'])
    expect(tags.filter((tag, index) => tag !== tags[index - 1])).toEqual(published.tags.map(({ name }) => name))
  })

  it('passes the recommended rules of a public linter, none ignored', () => {
    const linter = fileURLToPath(new URL('../../node_modules/@redocly/cli/bin/cli.js', import.meta.url))
    const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' }
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [linter, 'lint', '--extends=recommended', '--max-problems=1000', '--format=json', fileURLToPath(file)],
      // A folder without settings, so that none can soften the rules.
      { cwd: tmpdir(), encoding: 'utf8', env: { PATH: process.env.PATH, ...quiet } },
    )
    expect(JSON.parse(stdout || '{}'), stderr).toMatchObject({ totals: { errors: 0, warnings: 0, ignored: 0 } })
    expect(status).toBe(0)
  })

  // Spectral itself has an install script, and takes 68 MB.
  it('keeps the rules of spectral:oas that the linter does not know', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !/^\w+$/.test(id))).toEqual([])
    const tags = published.tags.map(({ name }) => name)
    expect(
      operations.filter(({ operation }) => operation.tags.length !== 1 || !tags.includes(operation.tags[0] ?? '')),
    ).toEqual([])
    expect(operations.filter(({ path }) => /.\/$|\?/.test(path))).toEqual([])
    expect(written).not.toMatch(/<script|eval\(/)
    const components: Record<string, object> = parse(written).components
    const unused = Object.entries(components).flatMap(([kind, parts]) =>
      Object.keys(parts).filter(
        (name) => kind !== 'securitySchemes' && !written.includes(`"#/components/${kind}/${name}"`),
      ),
    )
    expect(unused).toEqual([])
  })

  it('gives every status of every operation a description and an example', () => {
    const lacking = operations.flatMap(({ path, method, operation }) =>
      Object.entries(operation.responses)
        .filter(([status, { description, content = {} }]) => {
          const [media] = Object.values(content)
          if (status === '304') return media !== undefined
          return description === '' || (media?.example === undefined && Object.keys(media?.examples ?? {}).length === 0)
        })
        .map(([status]) => `${method} ${path} ${status}`),
    )
    expect(lacking).toEqual([])
  })

  it('has no example of a delivery that was erased, and yet has a payload', () => {
    const examples = operations.flatMap(({ operation: { responses } }) =>
      Object.values(responses).flatMap(({ content = {} }) => Object.values(content).map(({ example }) => example)),
    )
    expect(JSON.stringify(examples)).toContain('"Payload"')
    expect(JSON.stringify(examples)).not.toContain('"Erased"')
  })

  it('has an example for every text field', () => {
    const lacking = operations.flatMap(({ path, method, operation }) => {
      const { parameters = [], requestBody, responses } = operation
      const answered = Object.entries(responses).filter(([status]) => status < '400')
      const places = [
        ...parameters.map(({ name, schema }) => ({ place: `parameter ${name}`, schema })),
        ...Object.values(requestBody?.content ?? {}).map(({ schema }) => ({ place: 'request body', schema })),
        ...answered.flatMap(([status, { content = {} }]) =>
          Object.values(content).map(({ schema }) => ({ place: status, schema })),
        ),
      ]
      return places.flatMap(({ place, schema }) =>
        withoutExamples(schema).map((field) => `${method} ${path}, ${place}: ${field}`),
      )
    })
    expect(lacking, "put `examples: ['...']` beside these in their schema, then run npm run openapi").toEqual([])
  })

  it('describes every operation, and has an example for each path parameter', () => {
    const lacking = operations.flatMap(({ path, method, operation: { description = '', parameters = [] } }) => [
      ...(description === '' ? [`${method} ${path}: description`] : []),
      ...parameters
        .filter((parameter) => parameter.in === 'path' && parameter.example === undefined)
        .map(({ name }) => `${method} ${path}: example of ${name}`),
    ])
    expect(lacking).toEqual([])
    expect(published.info.contact?.name).toBeTruthy()
  })

  it('has every error of http but the one of addresses that it does not have', () => {
    const codes = Object.values(httpErrors).map(({ code }) => code)
    const named = Object.keys(published.components.examples ?? {})
    expect(codes.filter((code) => !named.includes(code))).toEqual([httpErrors.notFound.code])
  })

  it('names the credentials of every operation', () => {
    const taken = Object.fromEntries(operations.map(({ operation }) => [operation.operationId, operation.security]))
    expect(Object.values(taken)).not.toContain(undefined)
    expect(taken).toMatchObject({
      login: [],
      purchaseUpdate: [{ ApiKey: [] }, { ApiKey: [], bearer: [] }],
    })
    const suppliers = operations.filter(({ path }) => path.startsWith('/Supplier/'))
    expect(suppliers.length).toBeGreaterThan(0)
    for (const { operation } of suppliers) expect(operation.security).toEqual([{ ApiKey: [] }])
  })

  it('is what a server with the default settings serves as application/yaml', async () => {
    const { app } = await testApp()
    const answer = await app.inject('/openapi.yaml')
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'application/yaml; charset=utf-8'])
    expect(answer.payload).toBe(written)
  })
})

describe('the service keeps to openapi.yaml, whatever it is sent', async () => {
  const service = await testApp()
  const { customer, key } = await addSupplier(service, { authority: ['A', 'B-*', '*'] })
  const { email } = customer
  const { Token } = (await service.login({ Email: email, Password: PASSWORD })).json().data
  const bearer = `Bearer ${Token}`
  const delivered = await service.app.inject({
    method: 'POST',
    url: '/Purchase/update',
    headers: { ApiKey: key },
    payload: '{"OrderID":"a/ı","Status":1,"Sku":"A"}',
  })
  const { ReceiptID } = delivered.json().data
  const operator = await operating(service)
  // Operators' requests change it.
  const target = await addSupplier(service)
  // No address that anybody may send to.
  const endpoint = webhook({ url: 'https://127.0.0.1/', secret: 'whsec_AAAA' })
  await service.store.webhooks.add(endpoint)

  const fitting = (schema: Schema): fc.Arbitrary<unknown> => {
    if (schema.enum) return fc.constantFrom(...schema.enum)
    if (schema.anyOf) return fc.oneof(...schema.anyOf.map(fitting))
    if (schema.const !== undefined) return fc.constant(schema.const)
    switch ([schema.type].flat()[0]) {
      case 'object':
        return fc.record(
          Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, inner]) => [name, fitting(inner)])),
          { requiredKeys: [...(schema.required ?? [])] },
        )
      case 'array':
        return fc.array(fitting(schema.items ?? {}), { maxLength: 5 })
      case 'integer':
        return fc.integer({ min: schema.minimum ?? -5, max: schema.maximum ?? 5 })
      case 'number':
        return fc.double({ min: schema.minimum ?? -5, max: schema.maximum ?? 5, noNaN: true })
      case 'boolean':
        return fc.boolean()
      case 'null':
        return fc.constant(null)
      default:
        if (schema.format === 'date-time') return fc.constantFrom('2027-11-21T00:00:00Z', '2000-01-01T00:00:00+01:00')
        return schema.pattern ? fc.stringMatching(new RegExp(schema.pattern)) : anyText()
    }
  }

  const junk = fc.oneof(
    fc.json().map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    anyText().map((text) => Buffer.from(text)),
  )

  const bodies = (operation: Operation): fc.Arbitrary<Buffer | undefined> => {
    const schema = operation.requestBody?.content['application/json']?.schema
    if (schema === undefined) return fc.constant(undefined)
    const known = fc.constant({ Email: email, Password: PASSWORD })
    const valid = fc.oneof(fitting(schema), known).map((body) => Buffer.from(JSON.stringify(body)))
    return fc.oneof({ weight: 2, arbitrary: valid }, { weight: 1, arbitrary: junk })
  }

  const headers = (operation: Operation): fc.Arbitrary<Record<string, string>> => {
    const visible = fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) })
    const own = (operation.parameters ?? [])
      .filter((parameter) => parameter.in === 'header')
      .map(({ name, schema }) => [name, fc.oneof(fitting(schema) as fc.Arbitrary<string>, visible)] as const)
    const type = fc.constantFrom('application/json', 'application/json', 'application/json', 'text/plain', 'x')
    const ApiKey = fc.constantFrom(key, key, key, 'tsl_unknown')
    const token = isForOperators(operation) ? fc.constant(`Bearer ${operator.token}`) : fc.constant(bearer)
    const authorization = fc.oneof(
      { weight: 3, arbitrary: token },
      { weight: 2, arbitrary: fc.constantFrom('Bearer a.b.c', 'Basic x', bearer) },
    )
    const takesToken = operation.security?.some((scheme) => 'bearer' in scheme)
    const all = { 'content-type': type, ...Object.fromEntries(own), ApiKey, ...(takesToken && { authorization }) }
    return fc.record(all, { requiredKeys: ['content-type'] })
  }

  /** Fills in the path and query parameters of a path. */
  const addresses = (path: string, { parameters = [] }: Operation): fc.Arbitrary<string> => {
    const known = fc.constantFrom('a/ı', ReceiptID, target.customer.id, target.keyId, endpoint.id)
    // A long poll would hold up the test.
    const own = parameters.filter((parameter) => parameter.in !== 'header' && parameter.name !== 'wait')
    const values = Object.fromEntries(
      own.map(({ name, schema, in: place }) => {
        const value = fc.oneof(known, fitting(schema), fc.string({ unit: 'grapheme' }))
        // An empty segment or a dot segment is another path.
        return [name, place === 'path' ? value.filter((given) => !/^\.{0,2}$/.test(String(given))) : value]
      }),
    )
    const requiredKeys = own.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
    return fc.record(values, { requiredKeys }).map((given) => {
      const query = own
        .filter(({ name, in: place }) => place === 'query' && name in given)
        .map(({ name }) => `${name}=${encodeURIComponent(String(given[name]))}`)
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(given[name])))
      return query.length > 0 ? `${filled}?${query.join('&')}` : filled
    })
  }

  // Where there is no parameter and no body, nothing but the headers differs.
  const runsOf = ({ parameters = [], requestBody }: Operation): number =>
    parameters.length > 0 || requestBody ? 60 : 10

  it.each(operations)('$method $path', async ({ path, method, operation }) => {
    await fc.assert(
      fc.asyncProperty(
        addresses(path, operation),
        bodies(operation),
        headers(operation),
        async (url, payload, sent) => {
          const request = { method: method.toUpperCase(), url, headers: sent, ...(payload && { payload }) }
          const answer = await service.app.inject(request as InjectOptions)
          expect(answer.statusCode, answer.payload).toBeLessThan(500)
          const isJson = String(answer.headers['content-type']).startsWith('application/json')
          const body = isJson ? answer.json() : undefined
          expect(contractViolation(method.toUpperCase(), path, answer.statusCode, body)).toBeUndefined()
        },
      ),
      { numRuns: runsOf(operation) },
    )
  })
})
