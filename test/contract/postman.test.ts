import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import newman from 'newman'
import { expect, it } from 'vitest'
import { codesOf, type Operation } from '#src/docs/contract/answers.ts'
import type { Schema } from '#src/docs/contract/examples.ts'
import { postmanCollection, postmanEnvironment } from '../../tools/postman.ts'
import { toJson } from '../../tools/to-json.ts'
import { exchange } from '../support/app/raw-http.ts'
import { LOGIN, PASSWORD } from '../support/app/test-app.ts'
import { contractViolation, published } from '../support/docs/contract.ts'
import { runCommand } from '../support/processes/command.ts'
import { serveSandbox } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

interface Execution {
  readonly item: { readonly name: string }
  readonly response: { readonly code: number; readonly stream: Buffer }
}

interface Summary {
  readonly run: {
    readonly stats: Record<'requests' | 'assertions', { readonly total: number; readonly failed: number }>
    readonly failures: readonly { source?: { name?: string }; error: { message: string } }[]
    readonly executions: readonly Execution[]
  }
}

const read = (name: string): string => readFileSync(new URL(`../../deploy/postman/${name}`, import.meta.url), 'utf8')
const operations = Object.entries(published.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
)

/** The status of a success, and the schema of its JSON. */
function answerOf(responses: Operation['responses']): { status: string; schema: Schema | undefined } {
  const [[status, answer] = ['', undefined]] = Object.entries(responses)
  return { status, schema: answer?.content?.['application/json']?.schema }
}

/** What is wrong with the answer to a request of the collection. */
function misfit({ item: { name }, response: { code, stream } }: Execution): string | undefined {
  const operation = operations.find(({ summary }) => summary === name)
  if (operation === undefined) return `${name} is no operation`
  const { method, path, responses } = operation
  const { status, schema } = answerOf(responses)
  // The collection makes no refused delivery whose body is kept.
  const isMissing = code === 404 && path.includes('/refusal/')
  if (String(code) !== status && !isMissing) return `${name}: ${code}`
  return contractViolation(method, path, code, schema || isMissing ? JSON.parse(stream.toString()) : undefined)
}

it('the Postman collection and environment are what openapi.yaml says', () => {
  expect(read('teslim.postman_collection.json'), 'run npm run openapi').toBe(toJson(postmanCollection(published)))
  expect(read('teslim.postman_environment.json'), 'run npm run openapi').toBe(toJson(postmanEnvironment))
})

it('the Postman collection takes at most 70 lines for a request', () => {
  expect(read('teslim.postman_collection.json').split('\n').length / operations.length).toBeLessThan(70)
})

it('the Postman collection has a request for every operation, with a success and a refusal that it answers', () => {
  const items = postmanCollection(published).item.flatMap(({ item }) => item)
  expect(items.map(({ name }) => name).sort()).toEqual(operations.map(({ summary }) => summary).sort())
  for (const { responses, summary, path, method } of operations) {
    const codes = Object.entries(responses).flatMap(([status, answer]) =>
      (status < '400' ? ['OK'] : codesOf(answer)).map((code) => `${status} ${code}`),
    )
    const saved = items.find(({ name }) => name === summary)?.response ?? []
    expect(saved.map(({ code }) => code < 400)).toEqual([true, false])
    for (const { name, code, header, body } of saved) {
      expect(codes).toContain(name)
      const isJson = header[0]?.value === 'application/json'
      expect(contractViolation(method, path, code, isJson ? JSON.parse(body) : undefined)).toBeUndefined()
    }
  }
})

it.each([
  ['the whole collection', '', {}, published.tags.map(({ name }) => name)],
  [
    'its login and deliveries',
    ' with other names in its login',
    { TESLIM_LOGIN_ANSWER: 'camel', TESLIM_LOGIN_EMAIL_FIELD: 'UserMail', TESLIM_PURCHASE_BEARER: 'ignored' },
    ['Login', 'Purchase'],
  ],
] as const)('newman runs %s against a fresh server%s without a failure', async (_what, _name, env, folder) => {
  const cwd = tempFolder()
  const { server, email, password, apiKey } = await serveSandbox({ cwd, env })
  const emailField = 'TESLIM_LOGIN_EMAIL_FIELD' in env ? env.TESLIM_LOGIN_EMAIL_FIELD : 'Email'
  const operator = ['customer', 'add', '--email', 'operator@example.com', '--api', '--operator', '--password-stdin']
  expect(await runCommand(operator, { cwd, env, stdin: PASSWORD })).toMatchObject({ status: 0 })
  const login = JSON.stringify({ [emailField]: 'operator@example.com', Password: PASSWORD })
  const head = `POST ${LOGIN} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n`
  const answer = await exchange(server.url, `${head}Content-Length: ${login.length}\r\n\r\n${login}`)
  const [, operatorToken = ''] = /"token":"([^"]+)"/i.exec(answer) ?? []
  const given = { baseUrl: server.url, emailField, email, password, apiKey, operatorToken }
  const options = {
    collection: JSON.parse(read('teslim.postman_collection.json')),
    environment: JSON.parse(read('teslim.postman_environment.json')),
    envVar: Object.entries(given).map(([key, value]) => ({ key, value })),
    folder: [...folder],
    timeout: 60_000,
  }
  const { run } = (await promisify(newman.run)(options)) as Summary
  expect(run.failures.map(({ source, error }) => `${source?.name}: ${error.message}`)).toEqual([])
  const asked = operations.filter(({ tags }) => folder.includes(tags[0] as never))
  expect(run.stats.requests).toMatchObject({ total: asked.length, failed: 0 })
  // It asks for no refusal that there is.
  const enveloped = asked.filter(
    ({ path, responses }) => answerOf(responses).schema?.properties?.success && !path.includes('/refusal/'),
  )
  expect(run.stats.assertions.total).toBe(2 * asked.length + enveloped.length)
  // The contract is that of the default settings.
  const checked = run.executions.filter(({ item }) => !('TESLIM_LOGIN_ANSWER' in env && item.name === 'Generate token'))
  expect(checked.flatMap((execution) => misfit(execution) ?? [])).toEqual([])
})
