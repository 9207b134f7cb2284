import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type ServerResponse, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { buffer, text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { systemRandom } from '#src/lib/random.ts'
import { sqlitePath } from '#src/store/open-store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { addCustomer, LOGIN, testApp } from '../support/test-app.ts'

const examples = fileURLToPath(new URL('../../examples/', import.meta.url))
/** With what breaks JSON, shells and format strings that are put together without care. */
const PASSWORD = `quote " back \\ slash $HOME \`id\` %s ' & ü`
const folder = tempFolder()

const service = await testApp()
const { app, store, customers, clock, config } = service
const customer = await addCustomer(service, { authority: ['SKU-*'], password: PASSWORD })
const { key } = await createApiKeys({ store, customers, clock, random: systemRandom }).issue(customer.id, '', undefined)
await app.listen({ port: 0, host: '127.0.0.1' })
const database = new DatabaseSync(sqlitePath(config.databaseUrl), { readOnly: true })
afterAll(() => database.close())
const deliveries = () =>
  database.prepare('SELECT lower(hex(receipt)) AS receipt, CAST(payload AS TEXT) AS payload FROM delivery').all()

/** What becomes of a delivery on its way: it is passed on if nothing else is planned. */
type Fate = (pass: () => Promise<Buffer>, response: ServerResponse) => void
const refuse: Fate = (_pass, response) => void response.writeHead(503, { 'retry-after': '1' }).end('{}')
const loseAnswer: Fate = async (pass, response) => {
  await pass()
  response.destroy()
}

interface Arrival {
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly at: number
}

let arrivals: Arrival[] = []
let fates: Fate[] = []
let before = 0
beforeEach(() => {
  arrivals = []
  fates = []
  before = deliveries().length
})

/** The bad network between a supplier and the server. */
const network = createServer(async (request, response) => {
  const { method, url, headers } = request
  arrivals.push({ url, headers, at: performance.now() })
  const body = await buffer(request)
  const pass = async (): Promise<Buffer> => {
    const { port } = app.server.address() as AddressInfo
    const onward = send({ port, host: '127.0.0.1', method, path: url, headers }).end(body)
    const [answer] = await once(onward, 'response')
    const payload = await buffer(answer)
    if (!response.destroyed) response.statusCode = answer.statusCode
    return payload
  }
  const fate = url === LOGIN ? undefined : fates.shift()
  if (fate) fate(pass, response)
  else response.end(await pass())
})
await once(network.listen(0, '127.0.0.1'), 'listening')
afterAll(() => void network.close())
const baseUrl = `http://127.0.0.1:${(network.address() as AddressInfo).port}`

/** Hands curl on and writes down its arguments, which everybody on a machine can read. */
const seen = join(folder, 'arguments')
mkdirSync(join(folder, 'bin'))
writeFileSync(
  join(folder, 'bin/curl'),
  `#!/bin/sh\nprintf '%s\\n' "$@" >> '${seen}'\nPATH=\${PATH#*:} exec curl "$@"\n`,
)
chmodSync(join(folder, 'bin/curl'), 0o755)
writeFileSync(seen, '')

const languages = [
  ['deliver.php', ['php'], spawnSync('php', ['--version']).status === 0],
  ['deliver.cs', ['dotnet', 'run'], Number.parseInt(spawnSync('dotnet', ['--version']).stdout?.toString(), 10) >= 10],
  ['deliver.py', ['python3'], spawnSync('python3', ['--version']).status === 0],
  ['deliver.mjs', [process.execPath], true],
  ['deliver.sh', ['sh'], spawnSync('curl', ['--version']).status === 0],
] as const
for (const [file, [program], installed] of languages)
  if (!installed) console.info(`examples/${file} is not run: ${program} is not installed, or too old`)

async function run(
  file: string,
  command: readonly string[],
  more: Record<string, string | undefined> = {},
  rest: string[] = [],
) {
  const env = {
    PATH: `${join(folder, 'bin')}${delimiter}${process.env.PATH}`,
    HOME: process.env.HOME,
    SUPPLIER_BASE_URL: baseUrl,
    SUPPLIER_EMAIL: customer.email,
    SUPPLIER_PASSWORD: PASSWORD,
    SUPPLIER_API_KEY: key,
    ...more,
  }
  const [program = '', ...words] = command
  const child = spawn(program, [...words, join(examples, file), ...rest], { env, cwd: folder })
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  for (const secret of [PASSWORD, key, env.SUPPLIER_API_KEY, 'Bearer ', 'eyJ'].filter(Boolean))
    for (const shown of [stdout, stderr, readFileSync(seen, 'utf8')]) expect(shown).not.toContain(secret)
  return { status, stdout, stderr }
}

const delivered = () => arrivals.filter(({ url }) => url === '/Purchase/update')

describe.each(languages)('examples/%s', (file, command, installed) => {
  const promise = it.runIf(installed)

  promise('delivers once through a 503 and a lost answer, and gets the first receipt', async () => {
    fates = [refuse, loseAnswer]
    const order = `{"OrderID":"${file}","Status":2,"ProductID":"SKU-1","Note":"ü \\u0041  "}\n`
    writeFileSync(join(folder, 'order.json'), order)
    const { status, stdout, stderr } = await run(file, command, {}, [join(folder, 'order.json')])
    expect([status, stderr.match(/trying again in \d+\.\d s$/gm)?.length]).toEqual([0, 2])
    const stored = deliveries().slice(before)
    expect(stored).toEqual([{ receipt: expect.any(String), payload: order }])
    const receipt = JSON.parse(stdout)
    expect(receipt).toMatchObject({ Status: 2, OrderID: file, Duplicate: true })
    expect(receipt.ReceiptID.replaceAll('-', '')).toBe(stored[0]?.receipt)
    const attempts = delivered()
    expect(attempts).toHaveLength(3)
    expect(new Set(attempts.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
    expect((attempts[1]?.at ?? 0) - (attempts[0]?.at ?? 0)).toBeGreaterThanOrEqual(1000)
  })

  promise('gives two deliveries two keys', async () => {
    const outcomes = [await run(file, command), await run(file, command)]
    expect(outcomes.map(({ status, stderr }) => [status, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ])
    expect(new Set(delivered().map(({ headers }) => headers['idempotency-key'])).size).toBe(2)
  })

  promise('does not try again what was refused, and says why', async () => {
    const refused = await run(file, command, { SUPPLIER_API_KEY: `tsl_${'x'.repeat(40)}` })
    expect(refused).toMatchObject({ status: 1, stdout: '', stderr: expect.stringMatching(/^401 .*API_KEY/) })
    expect(delivered()).toHaveLength(1)
    const wrong = await run(file, command, { SUPPLIER_PASSWORD: 'wrong-password' })
    expect(wrong).toMatchObject({ status: 1, stdout: '', stderr: expect.stringMatching(/^400 .*LOGIN/) })
    expect(arrivals).toHaveLength(3)
    expect(deliveries()).toHaveLength(before)
  })

  promise('follows no redirect', async () => {
    fates = [(_pass, response) => void response.writeHead(307, { location: `${baseUrl}/elsewhere` }).end()]
    expect(await run(file, command)).toMatchObject({ status: 1, stdout: '', stderr: expect.stringMatching(/^307/) })
    expect(arrivals.map(({ url }) => url)).toEqual([LOGIN, '/Purchase/update'])
  })

  promise('ends when it is told to wait for an hour', async () => {
    fates = [(_pass, response) => void response.writeHead(429, { 'retry-after': '3600' }).end('{}')]
    const { status, stderr } = await run(file, command)
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^not confirmed after 1 attempts: 429/)])
    expect(delivered()).toHaveLength(1)
  })

  promise.each([
    [{ SUPPLIER_BASE_URL: undefined }, 'SUPPLIER_BASE_URL is not set'],
    [{ SUPPLIER_API_KEY: '' }, 'SUPPLIER_API_KEY is not set'],
    [{ SUPPLIER_BASE_URL: 'http://example.com' }, 'SUPPLIER_BASE_URL must begin with https://'],
    [{ SUPPLIER_BASE_URL: 'http://localhost:1@example.com' }, 'SUPPLIER_BASE_URL must begin with https://'],
    [{ SUPPLIER_API_KEY: 'tsl_secret\nX: y' }, 'SUPPLIER_API_KEY has '],
  ])('refuses what cannot work before it calls anybody: %j, %s', async (env, message) => {
    expect(await run(file, command, env)).toEqual({ status: 1, stdout: '', stderr: expect.stringContaining(message) })
    expect(arrivals).toEqual([])
  })
})
