import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import newman from 'newman'
import { expect, it } from 'vitest'
import { postmanCollection, postmanEnvironment, toJson } from '../../tools/postman.ts'
import { runCommand } from '../support/command.ts'
import { published } from '../support/contract.ts'
import { serveSandbox } from '../support/process.ts'
import { exchange } from '../support/raw-http.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { LOGIN, PASSWORD } from '../support/test-app.ts'

interface Summary {
  readonly run: {
    readonly stats: Record<'requests' | 'assertions', { readonly total: number; readonly failed: number }>
    readonly failures: readonly { source?: { name?: string }; error: { message: string } }[]
  }
}

const folder = new URL('../../deploy/postman/', import.meta.url)
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8')
const operations = Object.values(published.paths).flatMap((methods) => Object.values(methods))

it('the Postman collection and environment are what openapi.yaml says', () => {
  expect(read('teslim.postman_collection.json'), 'run npm run openapi').toBe(toJson(postmanCollection(published)))
  expect(read('teslim.postman_environment.json'), 'run npm run openapi').toBe(toJson(postmanEnvironment))
})

it('the Postman collection has a request for every operation, with an answer for every error', () => {
  const items = postmanCollection(published).item.flatMap(({ item }) => item)
  expect(items.map(({ name }) => name).sort()).toEqual(operations.map(({ summary }) => summary).sort())
  for (const { responses, summary } of operations) {
    const codes = Object.entries(responses).flatMap(([status, { content }]) =>
      Object.keys(content['application/json']?.examples ?? {}).map((code) => `${status} ${code}`),
    )
    const saved = items.find(({ name }) => name === summary)?.response.map(({ name }) => name)
    expect(saved).toEqual(expect.arrayContaining(codes))
  }
})

it.each([
  ['', {}],
  [
    ' with other names in its login',
    { TESLIM_LOGIN_ANSWER: 'camel', TESLIM_LOGIN_EMAIL_FIELD: 'UserMail', TESLIM_PURCHASE_BEARER: 'ignored' },
  ],
] as const)('newman runs the whole collection against a fresh server%s without a failure', async (_name, env) => {
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
    timeout: 60_000,
  }
  const { run } = (await promisify(newman.run)(options)) as Summary
  expect(run.failures.map(({ source, error }) => `${source?.name}: ${error.message}`)).toEqual([])
  expect(run.stats.requests).toMatchObject({ total: operations.length, failed: 0 })
  expect(run.stats.assertions.total).toBeGreaterThan(3 * operations.length)
})
