import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { makeCertificate } from '../support/network/certificate.ts'
import { makeStage as stageFor } from '../support/webhooks/webhook-commands.ts'
import { answering, startReceiver } from '../support/webhooks/webhook-receiver.ts'

const OTHER = 'another secret, just as long as that'
const VALUE = 'Bearer gateway-token-27182'
const PLAIN = 'plain-token-16180'
const reply = { status: 200, body: 'thank you' }
const receiver = await startReceiver(answering(reply))
const makeStage = () => stageFor(receiver.url)

describe('webhook set', () => {
  let stage: Awaited<ReturnType<typeof makeStage>>
  let id: string
  beforeAll(async () => {
    stage = await makeStage()
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
    [['--header', PLAIN], '', '--header takes a name and a value'],
    [['--header', `: ${PLAIN}`], '', '--header takes a name and a value'],
    [['--header', 'X-A: '], '', "--header has a name with only spaces as its value; 'X-Tenant:' removes a header"],
    [['--header', `Webhook-Id: ${PLAIN}`], '', 'The header "Webhook-Id" cannot be set: '],
    [['--secret-header', 'X-A'], '', 'stdin must have the value of each --secret-header in a line of its own'],
    [['--secret-header', 'X-A'], `${PLAIN}\n${PLAIN}\n`, 'stdin must have the value of each --secret-header'],
    [['--secret-header', 'X-A'], PLAIN.repeat(400), 'must be 1 to 4096 printable ASCII characters'],
    [['--secret-header', 'X-A'], PLAIN.repeat(9000), 'the value on stdin is longer than'],
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

it('a backup has headers, which its secret opens; a restore names what it undid, and one command for a host with its headers', async () => {
  const { add, json, run, cwd } = await makeStage()
  for (const name of ['1.pem', '2.pem']) writeFileSync(join(cwd, name), makeCertificate().certificate)
  const ids: string[] = []
  for (const args of [['--status', '1'], ['--ca', '1.pem'], ['--ca', '1.pem'], []])
    ids.push((await add(...args)).Endpoint.EndpointID)
  const [id = '', one = '', other = '', moved = ''] = ids
  for (const each of [id, moved])
    await json('webhook', 'set', each, '--header', `X-Kept: ${PLAIN}`, '--header', `X-Gone: ${PLAIN}`)
  await json('backup', 'b.db')
  rmSync(join(cwd, 'b.db.hmac'))
  expect((await run(['restore', '--check', 'b.db', '--unproved'], { TESLIM_SECRET: OTHER })).stdout).toContain(
    'The secrets of 4 endpoints cannot be opened',
  )
  const headers = ['--header', `X-Kept: ${VALUE}`, '--header', 'X-Gone:']
  const [near, far] = [`${receiver.url}/2`, 'https://backoffice.example/hook']
  await json('webhook', 'set', id, ...headers, '--url', near, '--status', 'none', '--no-duplicates')
  await json('webhook', 'set', one, '--ca', 'none')
  await json('webhook', 'set', other, '--ca', '2.pem')
  await json('webhook', 'set', moved, '--url', far, ...headers)
  const { undone } = await json('restore', 'b.db', '--unproved')
  const authorities = 'trusts its former certificate authorities again'
  const again = '--secret-header X-Kept --header X-Gone:'
  expect(undone).toEqual(
    [
      [id, `has this URL again instead of ${near}`, `--url ${near}`],
      [id, 'may have former headers again', again],
      [id, 'has its former filter again', '--customer none --status none --no-duplicates'],
      [one, authorities, '--ca none'],
      [other, authorities, '--ca FILE'],
      [moved, `has this URL again instead of ${far}`, `--url ${far} ${again}`],
    ].map(([each, happened, command]) => ({
      what: `endpoint ${each} (${receiver.url})`,
      happened,
      command: `teslim webhook set ${each} ${command}`,
    })),
  )
  await run(['webhook', 'test', id])
  expect(receiver.lastTest().headers).toMatchObject({ 'x-kept': PLAIN, 'x-gone': PLAIN })
})
