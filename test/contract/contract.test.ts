import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { systemRandom } from '#src/lib/random.ts'
import { contractYaml } from '../../tools/contract.ts'
import { addCustomer, PASSWORD, testApp } from '../support/test-app.ts'

interface Schema {
  readonly type?: string | string[]
  readonly enum?: unknown[]
  readonly properties?: Record<string, Schema>
  readonly required?: string[]
  readonly items?: Schema
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
}

interface Operation {
  readonly operationId: string
  readonly security?: unknown[]
  readonly parameters?: { name: string; in: string; schema: Schema }[]
  readonly requestBody?: { content: Record<string, { schema: Schema }> }
  readonly responses: Record<string, { content: Record<string, { schema: object }> }>
}

const written = readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8')
const contract = parse(written) as { paths: Record<string, Record<string, Operation>> }

const operations = Object.entries(contract.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

it('openapi.yaml is what the registered routes say', async () => {
  expect(written, 'run npm run openapi').toBe(await contractYaml())
})

describe('the service keeps to openapi.yaml, whatever it is sent', async () => {
  const service = await testApp()
  const { customers, store, clock } = service
  const { email } = await addCustomer(service, { authority: ['A', 'B-*', '*'] })
  const { key } = await createApiKeys({ store, customers, clock, random: systemRandom }).issue(email, 'fuzz')
  const token = (await service.login({ Email: email, Password: PASSWORD })).json().data.Token
  const delivered = await service.app.inject({
    method: 'POST',
    url: '/Purchase/update',
    headers: { ApiKey: key },
    payload: '{"OrderID":"a/ı","Status":1,"Sku":"A"}',
  })
  const { ReceiptID } = delivered.json().data
  const ajv = addFormats.default(new Ajv2020({ strict: false }))
  ajv.addSchema(contract, 'contract')

  const fitting = (schema: Schema): fc.Arbitrary<unknown> => {
    if (schema.enum) return fc.constantFrom(...schema.enum)
    switch ([schema.type].flat()[0]) {
      case 'object':
        return fc.record(
          Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, inner]) => [name, fitting(inner)])),
          { requiredKeys: schema.required ?? [] },
        )
      case 'array':
        return fc.array(fitting(schema.items ?? {}), { maxLength: 5 })
      case 'integer':
        return fc.integer({ min: schema.minimum ?? -5, max: schema.maximum ?? 5 })
      case 'boolean':
        return fc.boolean()
      default:
        return schema.pattern ? fc.stringMatching(new RegExp(schema.pattern)) : fc.string({ unit: 'binary' })
    }
  }

  const junk = fc.oneof(
    fc.json().map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
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
    const known = fc.constantFrom(key, key, key, 'tsl_unknown')
    return fc.record(
      { 'content-type': type, ...Object.fromEntries(own), ApiKey: known },
      { requiredKeys: ['content-type'] },
    )
  }

  /** The path with something in place of its parameters, and a query. */
  const addresses = (path: string, operation: Operation): fc.Arbitrary<string> => {
    const text = fc.string({ unit: 'grapheme', minLength: 1 })
    const place = fc.oneof(fc.constantFrom('a/ı', ReceiptID), text).map(encodeURIComponent)
    const own = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
    const values = own.map(({ name, schema }) => [name, fc.oneof(fitting(schema).map(String), text)] as const)
    const query = fc.record(Object.fromEntries(values), { requiredKeys: [] })
    return fc.tuple(place, query).map(([place, query]) => {
      const search = new URLSearchParams(query as Record<string, string>).toString()
      return path.replace(/\{\w+\}/, place) + (search && `?${search}`)
    })
  }

  const withToken = (operation: Operation): fc.Arbitrary<Record<string, string>> =>
    operation.security === undefined
      ? fc.constant({})
      : fc.constantFrom(token, token, token, 'x.y.z').map((one) => ({ authorization: `Bearer ${one}` }))

  it.each(operations)('$method $path', async ({ path, method, operation }) => {
    const sent = fc.tuple(headers(operation), withToken(operation)).map(([some, more]) => ({ ...some, ...more }))
    await fc.assert(
      fc.asyncProperty(addresses(path, operation), bodies(operation), sent, async (url, payload, sent) => {
        const request = { method: method.toUpperCase(), url, headers: sent, ...(payload && { payload }) }
        const answer = await service.app.inject(request as InjectOptions)
        expect(answer.statusCode, answer.payload).toBeLessThan(500)
        const documented = operation.responses[answer.statusCode]
        expect(documented, `status ${answer.statusCode} is not in the contract`).toBeDefined()
        const pointer = `${path}/${method}/responses/${answer.statusCode}/content/application~1json/schema`
        const check = ajv.getSchema(
          `contract#/paths/${pointer.replace(path, path.replaceAll('/', '~1').replaceAll(/[{}]/g, encodeURIComponent))}`,
        )
        expect(check, pointer).toBeDefined()
        expect(check?.(answer.json()), JSON.stringify([answer.json(), check?.errors])).toBe(true)
      }),
      { numRuns: 100 },
    )
  })
})
