import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { describe, expect, it } from 'vitest'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { systemRandom } from '#src/lib/random.ts'
import { contract, toYaml } from '../../tools/contract.ts'
import type { Operation } from '../../tools/contract-answers.ts'
import type { Schema } from '../../tools/contract-examples.ts'
import { contractViolation, published, written } from '../support/contract.ts'
import { addCustomer, PASSWORD, testApp } from '../support/test-app.ts'

const file = new URL('../../openapi.yaml', import.meta.url)
const operations = Object.entries(published.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

describe('openapi.yaml', () => {
  it('is what the registered routes say', async () => {
    expect(written, 'run npm run openapi').toBe(toYaml(await contract()))
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

  it('gives every status of every operation a description and an example', () => {
    const lacking = operations.flatMap(({ path, method, operation }) =>
      Object.entries(operation.responses)
        .filter(([, { description, content }]) => {
          const [media] = Object.values(content)
          return description === '' || (media?.example === undefined && Object.keys(media?.examples ?? {}).length === 0)
        })
        .map(([status]) => `${method} ${path} ${status}`),
    )
    expect(lacking).toEqual([])
  })

  it('says of every operation which credentials it takes', () => {
    const taken = Object.fromEntries(operations.map(({ operation }) => [operation.operationId, operation.security]))
    expect(Object.values(taken)).not.toContain(undefined)
    expect(taken).toMatchObject({
      login: [],
      purchaseUpdate: [{ ApiKey: [] }, { ApiKey: [], bearer: [] }],
    })
  })

  it('is served as it is, with a type of its own', async () => {
    const { app } = await testApp({ TESLIM_DOCS: 'off' })
    const answer = await app.inject('/openapi.yaml')
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'application/yaml; charset=utf-8'])
    expect(answer.payload).toBe(written)
  })
})

describe('the service keeps to openapi.yaml, whatever it is sent', async () => {
  const service = await testApp()
  const { customers, store, clock } = service
  const { email } = await addCustomer(service, { authority: ['A', 'B-*', '*'] })
  const { key } = await createApiKeys({ store, customers, clock, random: systemRandom }).issue(email, 'fuzz')

  const fitting = (schema: Schema): fc.Arbitrary<unknown> => {
    if (schema.enum) return fc.constantFrom(...schema.enum)
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

  it.each(operations)('$method $path', async ({ path, method, operation }) => {
    await fc.assert(
      fc.asyncProperty(bodies(operation), headers(operation), async (payload, sent) => {
        const request = { method: method.toUpperCase(), url: path, headers: sent, ...(payload && { payload }) }
        const answer = await service.app.inject(request as InjectOptions)
        expect(answer.statusCode, answer.payload).toBeLessThan(500)
        const isJson = String(answer.headers['content-type']).startsWith('application/json')
        const body = isJson ? answer.json() : undefined
        expect(contractViolation(method.toUpperCase(), path, answer.statusCode, body)).toBeUndefined()
      }),
      { numRuns: 100 },
    )
  })
})
