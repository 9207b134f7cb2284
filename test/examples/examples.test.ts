import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type ServerResponse, request as send } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { buffer, text } from 'node:stream/consumers'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { sqlitePath } from '#src/store/open-store.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { testApp } from '../support/app/test-app.ts'
import { EXAMPLES, hasDotnet, python, works } from '../support/examples/programs.ts'
import { makeCertificate } from '../support/network/certificate.ts'
import { freePort } from '../support/postgres/postgres-server.ts'
import { tempFolder } from '../support/temp-folder.ts'

const folder = tempFolder()

const service = await testApp()
const { app, config } = service
const { key } = await addSupplier(service, { authority: ['SKU-*'] })
await app.listen({ port: 0, host: '127.0.0.1' })
const database = new DatabaseSync(sqlitePath(config.databaseUrl), { readOnly: true })
afterAll(() => database.close())
const payloads = () =>
  database
    .prepare('SELECT CAST(payload AS TEXT) AS payload FROM delivery ORDER BY position')
    .all()
    .slice(before)
    .map(({ payload }) => payload)

/** What happens to a delivery on its way. Without one it is passed on. */
type Fate = (pass: () => Promise<Buffer>, response: ServerResponse) => void
const answer =
  (status: number, headers = {}): Fate =>
  (_pass, response) =>
    void response.writeHead(status, headers).end('{}')
const unavailable = answer(503, { 'retry-after': '1' })
/** Too long for any example to wait. */
const busyForAnHour = answer(429, { 'retry-after': '3600' })
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
let spool = ''
beforeEach(() => {
  arrivals = []
  fates = []
  before = 0
  before = payloads().length
  spool = join(tempFolder(), 'a spool')
})

/** The bad network between a supplier and the server. */
const network = createServer(async (request, response) => {
  const { method, url, headers } = request
  arrivals.push({ url, headers, at: performance.now() })
  const body = await buffer(request)
  const pass = async (): Promise<Buffer> => {
    const { port } = app.server.address() as AddressInfo
    const onward = send({ port, host: '127.0.0.1', method, path: url, headers }).end(body)
    const [received] = await once(onward, 'response')
    const payload = await buffer(received)
    if (!response.destroyed) response.statusCode = received.statusCode
    return payload
  }
  const fate = fates.shift()
  if (fate) fate(pass, response)
  else response.end(await pass())
})
await once(network.listen(0, '127.0.0.1'), 'listening')
afterAll(() => void network.close())
const baseUrl = `http://127.0.0.1:${(network.address() as AddressInfo).port}`

let handshakes = 0
const { certificate, key: certificateKey } = makeCertificate()
const untrusted = createTlsServer({ cert: certificate, key: certificateKey }, () => expect.unreachable())
untrusted.on('connection', () => void handshakes++)
await once(untrusted.listen(0, '127.0.0.1'), 'listening')
afterAll(() => void untrusted.close())

/** Passes calls on to curl and writes down their arguments, which everybody on a machine can read. */
const seen = join(folder, 'arguments')
mkdirSync(join(folder, 'bin'))
writeFileSync(
  join(folder, 'bin/curl'),
  `#!/bin/sh\nprintf '%s\\n' "$@" >> '${seen}'\nPATH=\${PATH#*:} exec curl "$@"\n`,
)
chmodSync(join(folder, 'bin/curl'), 0o755)
writeFileSync(seen, '')

const languages = [
  [
    'deliver.php',
    ['php'],
    works('php', '-r', 'exit(extension_loaded("curl") ? 0 : 1);'),
    'php with its curl extension',
  ],
  ['deliver.cs', ['dotnet', 'run'], hasDotnet, 'dotnet 10 or later'],
  ['deliver.py', [python], Boolean(python), 'python3'],
  ['deliver.mjs', [process.execPath], true, 'node'],
  ['deliver.sh', ['sh'], works('curl', '--version'), 'curl'],
] as const
for (const [file, , installed, needed] of languages)
  if (!installed) console.info(`examples/${file} is not run: ${needed} is not installed`)

interface Run {
  readonly env?: Record<string, string | undefined>
  readonly words?: readonly string[]
}

async function run(file: string, command: readonly string[], { env: more = {}, words = [] }: Run = {}) {
  const env = {
    PATH: `${join(folder, 'bin')}${delimiter}${process.env.PATH}`,
    HOME: process.env.HOME,
    SUPPLIER_BASE_URL: baseUrl,
    SUPPLIER_API_KEY: key,
    SUPPLIER_SPOOL: spool,
    ...more,
  }
  const [program = '', ...options] = command
  const child = spawn(program, [...options, join(EXAMPLES, file), ...words], { env, cwd: folder })
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  for (const secret of [key, env.SUPPLIER_API_KEY].filter(Boolean))
    for (const shown of [stdout, stderr, readFileSync(seen, 'utf8')]) expect(shown).not.toContain(secret)
  const receipts = stdout.split('\n').slice(0, -1)
  return { status, stderr, receipts: receipts.map((line) => JSON.parse(line)) }
}

const orderFile = (content: string): string => {
  const path = join(tempFolder(), 'order.json')
  writeFileSync(path, content)
  return path
}
const waiting = () => readdirSync(spool).filter((name) => name !== 'refused')
const aside = () => readdirSync(join(spool, 'refused'))
const keys = () => arrivals.map(({ headers }) => headers['idempotency-key'])

describe.each(languages)('examples/%s', { timeout: 60_000 }, (file, command, installed) => {
  const promise = it.runIf(installed)
  const deliver = (options?: Run) => run(file, command, options)

  promise('delivers once through a 503 and a lost answer, and shows the first receipt', async () => {
    fates = [unavailable, loseAnswer]
    const order = `{"OrderID":"${file}","Status":2,"ProductID":"SKU-1","Note":"ü \\u0041  "}\n`
    const { status, stderr, receipts } = await deliver({ words: [file, '1', orderFile(order)] })
    expect([status, stderr.match(/trying again in \d+\.\d s$/gm)?.length]).toEqual([0, 2])
    expect(payloads()).toEqual([order])
    expect(receipts).toMatchObject([{ Status: 2, OrderID: file, Duplicate: true }])
    expect(arrivals).toHaveLength(3)
    expect(new Set(keys()).size).toBe(1)
    expect((arrivals[1]?.at ?? 0) - (arrivals[0]?.at ?? 0)).toBeGreaterThanOrEqual(1000)
    expect(waiting()).toEqual([])
  })

  promise('takes a 200 for confirmed only if it contains a receipt, and tries again otherwise', async () => {
    const portal =
      (body: string): Fate =>
      (_pass, response) =>
        void response.end(body)
    fates = ['<html>Log in to the Wi-Fi</html>', '{"data":null,"success":true}'].map(portal)
    const { status, stderr, receipts } = await deliver({ words: [`${file} portal`] })
    expect(stderr.match(/^200, and the answer is not from the service; trying again/gm)).toHaveLength(2)
    expect([status, receipts]).toMatchObject([0, [{ OrderID: `${file} portal` }]])
  })

  promise.each([
    ['sent', 'SKU-1', 0],
    ['set aside', 'OTHER', 1],
  ])('takes a delivery that another run has %s meanwhile for done', async (_outcome, ProductID, status) => {
    fates = [busyForAnHour]
    const order = JSON.stringify({ OrderID: `${file} both`, Status: 2, ProductID })
    await deliver({ words: [`${file} both ${ProductID}`, '1', orderFile(order)] })
    const { promise: otherEnded, resolve: release } = Promise.withResolvers<void>()
    fates = [async (pass, response) => response.end(await otherEnded.then(pass))]
    arrivals = []
    const slow = deliver({ words: [`${file} slow ${ProductID}`] })
    await expect.poll(() => arrivals.length, { timeout: 20_000 }).toBe(1)
    const quick = await deliver({ words: [`${file} quick ${ProductID}`] })
    release()
    const [{ status: slowStatus, stderr }, left] = [await slow, waiting()]
    expect([quick.status, slowStatus, left]).toEqual([status, status, []])
    expect(stderr).toMatch(status ? /^403 .*; set aside in .*\n$/ : /^$/)
    expect(quick.receipts.slice(-2)).toMatchObject([
      { OrderID: `${file} slow ${ProductID}`, Duplicate: false },
      { OrderID: `${file} quick ${ProductID}`, Duplicate: false },
    ])
    expect(keys().filter((key) => key === keys()[0])).toHaveLength(2)
    expect(arrivals).toHaveLength(4)
  })

  promise('needs the ApiKey only', async () => {
    expect((await deliver()).status).toBe(0)
    expect(arrivals).toMatchObject([{ url: '/Purchase/update', headers: { apikey: key } }])
    expect(arrivals[0]?.headers).not.toHaveProperty('authorization')
  })

  promise('makes two orders when it is run twice as pasted', async () => {
    const outcomes = [await deliver(), await deliver()]
    expect(outcomes.map(({ status, stderr }) => [status, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ])
    const [first, second] = outcomes.map(({ receipts }) => receipts[0])
    expect([first.Duplicate, second.Duplicate]).toEqual([false, false])
    expect(first.OrderID).not.toBe(second.OrderID)
  })

  promise('delivers an order and its version once, however often it is run, and the next version again', async () => {
    const order = `${file} "quoted" \\ $HOME \`id\` %s ' & ü`
    const runs = [[order], [order, '1'], [order, '2']]
    const receipts = []
    for (const words of runs) receipts.push(...(await deliver({ words })).receipts)
    expect(receipts.map(({ OrderID }) => OrderID)).toEqual([order, order, order])
    expect(receipts[1]).toMatchObject({ Duplicate: true, ReceiptID: receipts[0].ReceiptID })
    expect(new Set(keys()).size).toBe(2)
  })

  promise('keeps what it cannot send, and sends it first in the next run, in order and once', async () => {
    const [one, two, three] = ['first', 'second', 'third'].map((name) => `${file} ${name}`) as [string, string, string]
    const away = { SUPPLIER_BASE_URL: `http://127.0.0.1:${await freePort()}` }
    const first = await deliver({ env: away, words: [one] })
    expect(first).toMatchObject({ status: 75, receipts: [] })
    expect(first.stderr.match(/^no answer: .*(refused|connect to).*; trying again/gim)).toHaveLength(3)
    expect(first.stderr).toMatch(
      /^not confirmed after 4 attempts: no answer: .*(refused|connect to).*\nDeliveries waiting in .*: 1\. /im,
    )
    // This one is stored, but its answer gets lost, and then the service is busy.
    fates = [loseAnswer, busyForAnHour]
    expect(await deliver({ words: [two] })).toMatchObject({ status: 75, receipts: [] })
    expect(waiting()).toHaveLength(2)

    const { status, receipts } = await deliver({ words: [three] })
    expect(status).toBe(0)
    expect(receipts).toMatchObject([
      { OrderID: one, Duplicate: true },
      { OrderID: two, Duplicate: false },
      { OrderID: three, Duplicate: false },
    ])
    expect(payloads().map((payload) => JSON.parse(String(payload)).OrderID)).toEqual([one, two, three])
    expect([waiting(), aside()]).toEqual([[], []])
  })

  promise('sets aside what is refused, with the reason, and sends what stands behind it', async () => {
    fates = [busyForAnHour]
    const order = '{"OrderID":"refused","Status":2,"ProductID":"OTHER"}'
    expect((await deliver({ words: [`${file} refused`, '1', orderFile(order)] })).status).toBe(75)
    const { status, stderr, receipts } = await deliver({ words: [`${file} accepted`] })
    expect([status, stderr]).toEqual([1, expect.stringMatching(/403 .*OTHER.*; set aside in/)])
    expect(receipts).toMatchObject([{ OrderID: `${file} accepted` }])
    expect(waiting()).toEqual([])
    const [body = '', reason = ''] = aside()
    expect(readFileSync(join(spool, 'refused', body), 'utf8')).toBe(order)
    expect(readFileSync(join(spool, 'refused', reason), 'utf8')).toMatch(/^403 .*OTHER/)
    expect((await deliver()).status).toBe(0)
  })

  promise('keeps everything where the key is wrong, does not retry, and says so', async () => {
    const env = { SUPPLIER_API_KEY: `tsl_${'x'.repeat(40)}` }
    const refused = await deliver({ env, words: [`${file} kept`] })
    expect(refused).toMatchObject({
      status: 1,
      receipts: [],
      stderr: expect.stringMatching(
        /^401 API_KEY_\w+: \w.* \(request \S+\)\nDeliveries waiting in .* spool: 1\. The next/,
      ),
    })
    expect(arrivals).toHaveLength(1)
    expect([waiting().length, aside()]).toEqual([1, []])
    expect(await deliver()).toMatchObject({ status: 0, receipts: [{ OrderID: `${file} kept` }, {}] })
  })

  promise('does not retry a certificate that cannot be trusted, and shows the real reason', async () => {
    handshakes = 0
    const env = { SUPPLIER_BASE_URL: `https://127.0.0.1:${(untrusted.address() as AddressInfo).port}` }
    const { status, stderr } = await deliver({ env })
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^no trusted certificate: .*self.?signed certificate/m)])
    expect(stderr).not.toContain('trying again')
    expect(handshakes).toBe(1)
    expect(waiting()).toHaveLength(1)
  })

  promise('follows no redirect', async () => {
    fates = [answer(307, { location: `${baseUrl}/elsewhere` })]
    expect(await deliver()).toMatchObject({ status: 1, receipts: [], stderr: expect.stringMatching(/^307/m) })
    expect(arrivals.map(({ url }) => url)).toEqual(['/Purchase/update'])
  })

  promise.each([
    [{ SUPPLIER_BASE_URL: undefined }, 'SUPPLIER_BASE_URL is not set'],
    [{ SUPPLIER_API_KEY: '' }, 'SUPPLIER_API_KEY is not set'],
    [{ SUPPLIER_BASE_URL: 'http://example.com' }, 'SUPPLIER_BASE_URL must begin with https://'],
    [{ SUPPLIER_BASE_URL: 'http://localhost:1@example.com' }, 'SUPPLIER_BASE_URL must begin with https://'],
    [{ SUPPLIER_API_KEY: 'tsl_secret\nX: y' }, 'SUPPLIER_API_KEY has '],
  ])('refuses what cannot work before it calls or stores anything: %j, %s', async (env, message) => {
    expect(await deliver({ env })).toEqual({ status: 1, receipts: [], stderr: expect.stringContaining(message) })
    expect([arrivals, existsSync(spool)]).toEqual([[], false])
  })
})
