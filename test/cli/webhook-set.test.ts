import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { makeCertificate } from '../support/network/certificate.ts'
import { storesOfRun } from '../support/store/stores.ts'
import { SECRET, makeStage as stageFor } from '../support/webhooks/webhook-commands.ts'
import { answering, startReceiver } from '../support/webhooks/webhook-receiver.ts'

const OTHER = 'another secret, just as long as that'
const VALUE = 'Bearer gateway-token-27182'
const PLAIN = 'plain-token-16180'
const reply = { status: 200, body: 'thank you' }
const receiver = await startReceiver(answering(reply))
const makeStage = (databaseUrl?: string) => stageFor(receiver.url, databaseUrl)

describe.each(storesOfRun())('webhook set, on %s,', (_kind, emptyStore) => {
  let stage: Awaited<ReturnType<typeof makeStage>>
  let id: string
  beforeAll(async () => {
    stage = await makeStage((await emptyStore()).DATABASE_URL)
  })
  beforeEach(async () => {
    reply.body = 'thank you'
    id = (await stage.add()).Endpoint.EndpointID
  })
  const set = (args: readonly string[], stdin = '') => stage.run(['webhook', 'set', id, ...args], {}, undefined, stdin)
  const shown = async () => (await stage.json('webhook', 'show', id)).Endpoint
  const sent = async () => {
    await stage.webhook('test', id)
    return receiver.lastTest().headers
  }

  it('changes what is given, with none for all, and prints the endpoint as it is then', async () => {
    const { json, one, cwd } = stage
    writeFileSync(join(cwd, 'ca.pem'), makeCertificate().certificate)
    const url = `${receiver.url}/other`
    const given = ['--url', url, '--customer', one.email, '--status', '3,1', '--no-duplicates', '--give-up', '2d']
    const changed = await json('webhook', 'set', id.slice(0, 12), ...given, '--ca', 'ca.pem')
    expect(changed).toMatchObject({
      EndpointID: id,
      URL: url,
      CustomerID: one.id,
      Statuses: [1, 3],
      Duplicates: false,
      GiveUp: 172_800,
      HasCA: true,
      Headers: [],
    })
    const { stdout } = await set(['--duplicates', '--header', 'X-Tenant: 7', '--header', 'X-Line:8'])
    for (const part of [
      /URL +http.*\/other\n/,
      'one@b.co',
      'Status 1, 3\n',
      'own certificate',
      /headers +X-Tenant, X-Line\n/,
    ])
      expect(stdout).toMatch(part)
    const none = ['--customer', 'none', '--status', 'none', '--give-up', 'none', '--ca', 'none', '--url', receiver.url]
    expect(await json('webhook', 'set', id, ...none)).toMatchObject({
      URL: receiver.url,
      CustomerID: null,
      Statuses: null,
      Duplicates: true,
      GiveUp: null,
      HasCA: false,
      Headers: ['X-Tenant', 'X-Line'],
    })
    expect(await sent()).toMatchObject({ 'x-tenant': '7', 'x-line': '8' })
    await set(['--header', 'x-tenant:', '--header', 'X-Line:'])
    expect(await shown()).toMatchObject({ Headers: [] })
    expect(await sent()).not.toHaveProperty('x-tenant')
  })

  it('takes the values of several secret headers from stdin, one in a line', async () => {
    const args = ['--secret-header', 'Authorization', '--header', `X-Plain: ${PLAIN}`, '--secret-header', 'X-Other']
    expect(await set(args, `${VALUE}\r\nthe other: value\n`)).toMatchObject({ status: 0, stderr: '' })
    expect(await sent()).toMatchObject({ authorization: VALUE, 'x-plain': PLAIN, 'x-other': 'the other: value' })
    await set(['--secret-header', 'AUTHORIZATION', '--header', 'x-other:', '--header', 'x-plain:'], 'Basic YTpi')
    expect(await sent()).toMatchObject({ authorization: 'Basic YTpi' })
    expect(await shown()).toMatchObject({ Headers: ['AUTHORIZATION'] })
    await set(['--header', 'Authorization:'])
  })

  it.each([
    [[], '', 'say what to change: --url, --customer, --status, --duplicates, --no-duplicates, --header, '],
    [['--duplicates', '--no-duplicates'], '', '--duplicates and --no-duplicates cannot be combined'],
    [['--status', 'all'], '', '--status takes numbers from 0 to 3'],
    [['--give-up', '1s'], '', '--give-up takes a time'],
    [['--url', 'https://10.0.0.1/'], '', '10.0.0.1'],
    [['--url', 'http://192.0.2.1/'], '', 'Webhooks are not sent to private addresses'],
    [['--url', ''], '', 'The URL does not have the form https://HOST/PATH.'],
    [['--ca', 'missing.pem'], '', 'cannot be read: ENOENT'],
    [['--header', PLAIN], '', '--header takes a name and a value'],
    [['--header', `: ${PLAIN}`], '', '--header takes a name and a value'],
    [['--header', 'X-A: '], '', "--header has a name with only spaces as its value; 'X-Tenant:' removes a header"],
    [['--header', 'X-A:\t \t'], '', '--header has a name with only spaces'],
    [['--header', `X A: ${PLAIN}`], '', 'The name of a header is 1 to 128 letters, digits'],
    [['--header', `X-A: ${PLAIN}\r\nX-B: 1`], '', 'must be 1 to 4096 printable ASCII characters'],
    [['--header', `Webhook-Id: ${PLAIN}`], '', 'The header "Webhook-Id" cannot be set: '],
    [['--header', `X-A: ${PLAIN}`, '--secret-header', 'x-a'], PLAIN, 'The header "x-a" is named twice.'],
    [['--secret-header', 'X-A'], '', 'stdin must have the value of each --secret-header in a line of its own'],
    [['--secret-header', 'X-A'], `${PLAIN}\n${PLAIN}\n`, 'stdin must have the value of each --secret-header'],
    [['--secret-header', 'X-A', '--secret-header', 'X-B'], `${PLAIN}\n`, 'stdin must have the value of each'],
    [['--secret-header', 'X-A'], ` ${PLAIN}`, 'must be 1 to 4096 printable ASCII characters, without a space'],
    [['--secret-header', 'X-A'], PLAIN.repeat(400), 'must be 1 to 4096 printable ASCII characters'],
    [['--secret-header', 'X-A'], PLAIN.repeat(9000), 'the value on stdin is longer than'],
    [Array.from({ length: 9 }, (_, n) => ['--header', `X-${n}: ${PLAIN}`]).flat(), '', 'at most 8 headers of its own'],
  ] as const)('refuses %j in one line without a value, and changes nothing', async (args, stdin, line) => {
    const before = await shown()
    const { status, stdout, stderr } = await set(args, stdin)
    expect([status, stdout, stderr.trimEnd().split('\n')]).toEqual([2, '', [expect.stringContaining(line)]])
    expect(stderr).not.toContain(PLAIN)
    expect(await shown()).toEqual(before)
  })

  it('refuses an unknown endpoint and an unknown customer', async () => {
    for (const [args, line] of [
      [['nothing', '--duplicates'], 'There is no endpoint "nothing".'],
      [[id, '--customer', 'nobody@b.co'], 'There is no customer "nobody@b.co".'],
      [[id, '--customer', ''], 'There is no customer "".'],
    ] as const) {
      const { status, stderr } = await stage.webhook('set', ...args)
      expect([status, stderr]).toEqual([1, `teslim webhook set: ${line}\n`])
    }
  })

  it('seals headers, which a rewrap encrypts again, and a wrong TESLIM_SECRET names in one line', async () => {
    const { run, withStore } = stage
    await set(['--secret-header', 'Authorization', '--header', `X-Plain: ${PLAIN}`], VALUE)
    const stored = () => withStore(async ({ webhooks }) => (await webhooks.find(id))?.headers ?? '')
    const before = await stored()
    expect(Object.values(JSON.parse(before))).toEqual([expect.stringMatching(/^v1\./), expect.stringMatching(/^v1\./)])
    for (const [args, TESLIM_SECRET] of [
      [['set', id, '--header', `X-B: ${PLAIN}`], OTHER],
      [['set', id, '--header', 'X-Plain:'], ''],
      [['test', id], OTHER],
    ] as const) {
      const { status, stdout, stderr } = await run(['webhook', ...args], { TESLIM_SECRET })
      const wanted = expect.stringMatching(new RegExp(`the webhook endpoint ${id}: .*TESLIM_SECRET`))
      expect([status, stdout, stderr.trimEnd().split('\n')]).toEqual([1, '', [wanted]])
      expect(stderr).not.toMatch(`${PLAIN}|${SECRET}`)
    }
    // What needs no secret works without it.
    expect((await run(['webhook', 'set', id, '--duplicates'], { TESLIM_SECRET: OTHER })).status).toBe(0)
    expect((await run(['webhook', 'show', id], { TESLIM_SECRET: OTHER })).stdout).toContain('X-Plain, Authorization')
    const changed = { TESLIM_SECRET: OTHER, TESLIM_SECRET_OLD: SECRET }
    for (const { id: other } of await withStore(({ webhooks }) => webhooks.list()))
      if (other !== id) await stage.webhook('remove', other)
    expect((await run(['doctor'], changed)).stdout).toMatch(/3 secrets are not encrypted under TESLIM_SECRET/)
    expect((await run(['signing-key', 'rewrap'], changed)).stdout).toContain('Secrets of webhooks: 3 now, 0 before.')
    expect((await run(['doctor'], { TESLIM_SECRET: OTHER })).stdout).toMatch(/ok +webhooks/)
    expect(await stored()).not.toBe(before)
    await run(['webhook', 'test', id], { TESLIM_SECRET: OTHER })
    expect(receiver.lastTest().headers).toMatchObject({ authorization: VALUE, 'x-plain': PLAIN })
    const back = { TESLIM_SECRET: SECRET, TESLIM_SECRET_OLD: OTHER }
    expect((await run(['signing-key', 'rewrap', '--json'], back)).stdout).toContain('"rewrapped":3,"kept":0')
  })

  it('the value of a header is nowhere to be seen but at the receiver', async () => {
    const { run, webhook, cwd } = stage
    reply.body = `I got ${VALUE}, ${JSON.stringify({ PLAIN })} and ${encodeURIComponent(VALUE)}`
    reply.status = 500
    const seen = [await set(['--secret-header', 'Authorization', '--header', `X-Plain: ${PLAIN}`], VALUE)]
    seen.push(await set(['--secret-header', 'Authorization', '--json'], VALUE))
    for (const args of [['test', id], ['show', id], ['list'], ['pause', id], ['resume', id], ['rotate-secret', id]])
      for (const more of [[], ['--json']]) seen.push(await webhook(...args, ...more))
    for (const args of [['audit', 'list'], ['doctor'], ['config'], ['customer', 'list']])
      for (const more of [[], ['--json']]) seen.push(await run([...args, ...more]))
    reply.status = 200
    expect(receiver.lastTest().headers).toMatchObject({ authorization: VALUE, 'x-plain': PLAIN })
    const text = JSON.stringify(seen)
    expect(text).toContain('[removed]')
    expect(text.match(/"headersSet\\":\[\\"X-Plain\\",\\"Authorization/g)?.length).toBeGreaterThan(0)
    expect(text).not.toMatch(/gateway-token|plain-token/)
    for (const name of readdirSync(cwd)) expect(readFileSync(join(cwd, name)).includes('gateway-token')).toBe(false)
  })
})

it('without a secret of the service headers are stored as they are, until a rewrap', async () => {
  const { run, withStore } = await makeStage()
  const none = { TESLIM_SECRET: '' }
  const { Endpoint } = JSON.parse((await run(['webhook', 'add', '--url', receiver.url, '--json'], none)).stdout)
  await run(['webhook', 'set', Endpoint.EndpointID, '--header', `X-Plain: ${PLAIN}`], none)
  const stored = () => withStore(async ({ webhooks }) => (await webhooks.find(Endpoint.EndpointID))?.headers)
  expect(await stored()).toBe(JSON.stringify({ 'X-Plain': JSON.stringify(PLAIN) }))
  expect((await run(['signing-key', 'rewrap'])).stdout).toContain('Secrets of webhooks: 2 now, 0 before.')
  expect(await stored()).not.toContain(PLAIN)
})

it('a backup has headers, which its secret opens; a restore names what it undid', async () => {
  const { add, json, run, cwd } = await makeStage()
  const { EndpointID: id } = (await add('--status', '1')).Endpoint
  await json('webhook', 'set', id, '--header', `X-Kept: ${PLAIN}`, '--header', `X-Gone: ${PLAIN}`)
  await json('backup', 'b.db')
  rmSync(join(cwd, 'b.db.hmac'))
  expect((await run(['restore', '--check', 'b.db'], { TESLIM_SECRET: OTHER })).stdout).toContain(
    'The secrets of 1 endpoint cannot be opened',
  )
  const later = ['--header', `X-Kept: ${VALUE}`, '--header', 'X-Gone:', '--url', `${receiver.url}/2`]
  await json('webhook', 'set', id, ...later, '--status', 'none', '--no-duplicates')
  const { undone } = await json('restore', 'b.db')
  const what = `endpoint ${id} (${receiver.url})`
  expect(undone).toEqual([
    {
      what,
      happened: `has this URL again instead of ${receiver.url}/2`,
      command: `teslim webhook set ${id} --url ${receiver.url}/2`,
    },
    {
      what,
      happened: 'may have former headers again',
      command: `teslim webhook set ${id} --secret-header X-Kept --header X-Gone:`,
    },
    {
      what,
      happened: 'has its former filter again',
      command: `teslim webhook set ${id} --customer none --status none --no-duplicates`,
    },
  ])
  await run(['webhook', 'test', id])
  expect(receiver.lastTest().headers).toMatchObject({ 'x-kept': PLAIN, 'x-gone': PLAIN })
})

it('a restore names a certificate authority that came back, and one command for a host with its headers', async () => {
  const { add, json, cwd } = await makeStage()
  for (const name of ['1.pem', '2.pem']) writeFileSync(join(cwd, name), makeCertificate().certificate)
  const all = [await add('--ca', '1.pem'), await add('--ca', '1.pem'), await add()]
  const [id, other, third] = all.map(({ Endpoint }) => Endpoint.EndpointID)
  await json('webhook', 'set', third, '--header', `X-Kept: ${PLAIN}`, '--header', `X-Gone: ${PLAIN}`)
  await json('backup', 'b.db')
  await json('webhook', 'set', id, '--ca', 'none')
  await json('webhook', 'set', other, '--ca', '2.pem')
  const url = 'https://backoffice.example/hook'
  await json('webhook', 'set', third, '--url', url, '--header', `X-Kept: ${VALUE}`, '--header', 'X-Gone:')
  const { undone } = await json('restore', 'b.db')
  const authorities = 'trusts its former certificate authorities again'
  expect(undone.map(({ happened, command }: Record<string, string>) => [happened, command])).toEqual([
    [authorities, `teslim webhook set ${id} --ca none`],
    [authorities, `teslim webhook set ${other} --ca FILE`],
    [
      `has this URL again instead of ${url}`,
      `teslim webhook set ${third} --url ${url} --secret-header X-Kept --header X-Gone:`,
    ],
  ])
})

it.each(storesOfRun('postgres'))('a copy has headers and the filters of before', async (_, emptyStore) => {
  const { add, json, run, withStore } = await makeStage()
  const { EndpointID: id } = (await add('--status', '1')).Endpoint
  await json('webhook', 'set', id, '--header', `X-Kept: ${PLAIN}`, '--status', '2')
  await withStore(({ webhooks }) => webhooks.load(id))
  const { DATABASE_URL } = await emptyStore()
  await json('copy', '--to', DATABASE_URL)
  const { status } = await run(['webhook', 'test', id], { DATABASE_URL })
  expect([status, receiver.lastTest().headers['x-kept']]).toEqual([0, PLAIN])
  const former = [{ customerId: null, statuses: [1], duplicates: true, until: expect.any(Number) }]
  const { store } = await openStore(loadConfig({ DATABASE_URL }).config, 0)
  onTestFinished(() => store.close())
  expect((await store.webhooks.find(id))?.formerFilters).toEqual(former)
  const rows = await run(['webhook', 'show', id, '--json'], { DATABASE_URL })
  expect(JSON.parse(rows.stdout).Endpoint).toMatchObject({ Statuses: [2], Headers: ['X-Kept'] })
})
