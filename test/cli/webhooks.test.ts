import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { utcTimes } from '#src/cli/output/times.ts'
import type { AuditEvent } from '#src/store/store.ts'
import { storesOfRun } from '../support/store/stores.ts'
import { SECRET, makeStage as stageFor } from '../support/webhooks/webhook-commands.ts'
import { answering, startReceiver } from '../support/webhooks/webhook-receiver.ts'
import { save, waiting } from '../support/webhooks/webhook-rows.ts'

const OTHER = 'another secret, just as long as that'
const reply = { status: 200, body: 'thank you' }
const receiver = await startReceiver(answering(reply))

const makeStage = () => stageFor(receiver.url)

describe('webhooks on the command line', () => {
  let stage: Awaited<ReturnType<typeof makeStage>>
  beforeAll(async () => {
    stage = await makeStage()
  })

  it('are added, listed, shown and removed', async () => {
    const { json, webhook, add, one } = stage
    expect((await webhook('list')).stdout).toBe('There are no endpoints yet: see teslim webhook add --help.\n')
    expect(await json('webhook', 'list')).toEqual([])
    const filter = `--customer ${one.id.slice(0, 8)} --no-duplicates --give-up 3d --from start`.split(' ')
    const { Endpoint, Secret } = await add(...filter, '--status', '1, 3')
    expect(Secret).toMatch(/^whsec_/)
    expect(Endpoint).toMatchObject({
      URL: receiver.url,
      CustomerID: one.id,
      Statuses: [1, 3],
      Duplicates: false,
      GiveUp: 259_200,
      HasCA: false,
      State: 'behind',
      Pending: 2,
      PendingAtLeast: false,
    })
    const { EndpointID } = Endpoint
    const [listed] = await json('webhook', 'list')
    expect({ ...listed, BehindSeconds: 0 }).toEqual({ ...Endpoint, BehindSeconds: 0 })
    const shown = await json('webhook', 'show', EndpointID.slice(0, 13))
    expect(shown).toMatchObject({ Endpoint: { EndpointID }, Failing: [], SetAside: [], Attempts: [], Minutes: [] })
    const { stdout } = await webhook('show', EndpointID)
    for (const part of [
      receiver.url,
      'one@b.co',
      'Status 1, 3, no duplicates',
      'what fails for 3d',
      /pending +2\n/,
      /state +behind/,
    ])
      expect(stdout).toMatch(part)
    expect(stdout + JSON.stringify([listed, shown])).not.toContain('whsec_')
    expect(await json('webhook', 'remove', EndpointID)).toEqual({ EndpointID })
    expect((await webhook('remove', EndpointID)).status).toBe(1)
    const all: AuditEvent[] = await json('audit', 'list', '--action', 'webhook')
    const done = all.filter(({ details }) => details.endpointId === EndpointID)
    expect(done.map(({ action, customerId }) => [action, customerId])).toEqual([
      ['webhook.add', one.id],
      ['webhook.remove', one.id],
    ])
    expect(JSON.stringify(done)).not.toContain('whsec_')
  })

  it('are paused, resumed, tested and sent again', async () => {
    const { json, webhook, add, receipts, one } = stage
    const { EndpointID } = (await add()).Endpoint
    expect(await json('webhook', 'pause', EndpointID)).toMatchObject({
      EndpointID,
      State: 'paused',
      PausedReason: 'operator',
    })
    expect((await webhook('pause', EndpointID)).stdout).toBe(`${EndpointID}: paused, 0 deliveries pending.\n`)
    reply.status = 200
    expect(await webhook('test', EndpointID)).toEqual({
      status: 0,
      stdout: expect.stringMatching(/^It answered 200, after \d+ ms\.\nthank you\n$/),
      stderr: '',
    })
    reply.status = 503
    const failed = await webhook('test', EndpointID)
    expect([failed.status, failed.stdout]).toEqual([1, expect.stringMatching(/^It failed: status 503, after \d+ ms\./)])
    expect((await stage.run(['webhook', 'test', EndpointID, '--json'])).stdout).toMatch(/^\{"At":.*"Status":503/)
    expect((await webhook('show', EndpointID)).stdout).toMatch(/test +\d+ +status 503: thank you/)

    expect(await webhook('replay', EndpointID, '--receipt', receipts[0]?.slice(0, 24) ?? '')).toMatchObject({
      status: 1,
    })
    expect((await webhook('replay', EndpointID, '--receipt', receipts[0] ?? '')).stdout).toBe(
      `1 delivery is sent again.\n  the endpoint is paused: teslim webhook resume ${EndpointID}\n`,
    )
    expect((await webhook('replay', EndpointID, '--set-aside')).stdout).toMatch(/^0 deliveries are sent again\./)
    const begun = await json('webhook', 'replay', EndpointID, '--from', 'start', '--status', '0,2')
    expect(begun).toMatchObject({ Deliveries: 3, Endpoint: { Waiting: 1, Replay: { Statuses: [0, 2], Percent: 0 } } })
    expect(await webhook('replay', EndpointID, '--from', '24h')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('A replay of this endpoint is under way: wait for its end, or cancel it.'),
    })
    expect((await webhook('show', EndpointID)).stdout).toMatch(
      /replay +0 % of \S+ \S+ UTC to \S+ \S+ UTC, Status 0, 2: 0 deliveries so far\n/,
    )
    expect((await webhook('replay', EndpointID, '--cancel')).stdout).toBe(
      `Nothing more is added: 0 deliveries were.\n  the endpoint is paused: teslim webhook resume ${EndpointID}\n`,
    )
    expect((await webhook('show', EndpointID)).stdout).not.toContain('replay')
    const [line = ''] = (await stage.run(['delivery', 'export'])).stdout.split('\n')
    const { Cursor } = JSON.parse(line)
    const stretch = await webhook('replay', EndpointID, '--from', Cursor, '--to', '1h')
    expect(stretch.stdout).toMatch(
      /^At most 2 deliveries are sent again\.\n {2}to see how far it is: teslim webhook show/,
    )
    await webhook('replay', EndpointID, '--cancel')
    const ofOrder = await webhook('replay', EndpointID, '--order', 'PO-2', '--customer', one.email)
    expect(ofOrder.stdout).toMatch(/^1 delivery is sent again\.\n/)
    const [own = ''] = (await stage.run(['delivery', 'export', '--customer', one.id])).stdout.split('\n')
    const foreign = await webhook('replay', EndpointID, '--from', JSON.parse(own).Cursor)
    expect([foreign.status, foreign.stderr]).toEqual([
      2,
      expect.stringContaining('no cursor of the feed of all customers, or of the customer of this endpoint'),
    ])
    expect((await webhook('resume', EndpointID)).stdout).toBe(`${EndpointID}: active, 2 deliveries pending.\n`)
    await webhook('remove', EndpointID)
  })

  it('get another secret, while both sign for a day', async () => {
    const { json, webhook, add } = stage
    const { Endpoint, Secret } = await add()
    const { EndpointID } = Endpoint
    const rotated = await json('webhook', 'rotate-secret', EndpointID)
    expect(rotated.Secret).not.toBe(Secret)
    const { stdout } = await webhook('rotate-secret', EndpointID, '--overlap', '0')
    expect(stdout).toMatch(/^whsec_\S{44}\n {2}shown once: .*\n.*\n.*\n {2}the old secret no longer signs\n$/)
    expect((await webhook('rotate-secret', EndpointID, '--overlap', '1h')).stdout).toMatch(/signs, too, until \d{4}-/)
    await webhook('remove', EndpointID)
  })

  it('have secrets and headers that a rewrap encrypts again, and that a wrong TESLIM_SECRET names in one line', async () => {
    const { run, add, json, withStore } = stage
    const { EndpointID } = (await add()).Endpoint
    await json('webhook', 'rotate-secret', EndpointID)
    await json('webhook', 'set', EndpointID, '--header', 'X-Tenant: of-nobody-else')
    const stored = async () => {
      const { secret, formerSecret, headers } =
        (await withStore(async ({ webhooks }) => webhooks.find(EndpointID))) ?? {}
      return [secret, formerSecret?.sealed, JSON.parse(headers ?? '{}')['X-Tenant']]
    }
    const before = await stored()
    expect(before).toEqual(Array(3).fill(expect.stringMatching(/^v1\./)))
    for (const [args, TESLIM_SECRET] of [
      [['rotate-secret', EndpointID], OTHER],
      [['test', EndpointID], OTHER],
      [['test', EndpointID], ''],
      [['add', '--url', receiver.url], OTHER],
      [['set', EndpointID, '--header', 'X-Line: of-nobody-else'], OTHER],
      [['set', EndpointID, '--header', 'X-Tenant:'], ''],
    ] as const) {
      const { status, stdout, stderr } = await run(['webhook', ...args], { TESLIM_SECRET })
      expect([status, stdout, stderr.trimEnd().split('\n')]).toEqual([
        1,
        '',
        [expect.stringMatching(new RegExp(`the webhook endpoint ${EndpointID}: .*TESLIM_SECRET`))],
      ])
      expect(stderr).not.toMatch(`${SECRET}|of-nobody-else`)
    }
    // What needs no secret works without it.
    expect((await run(['webhook', 'set', EndpointID, '--duplicates'], { TESLIM_SECRET: OTHER })).status).toBe(0)
    const doctor = await run(['doctor', '--json'], { TESLIM_SECRET: OTHER })
    expect(doctor).toMatchObject({
      status: 1,
      stdout: expect.stringContaining(
        `"failed","message":"the secret of the webhook endpoint ${EndpointID}: TESLIM_SECRET `,
      ),
    })
    const changed = { TESLIM_SECRET: OTHER, TESLIM_SECRET_OLD: SECRET }
    expect((await run(['doctor'], changed)).stdout).toMatch(/3 secrets are not encrypted under TESLIM_SECRET/)
    expect((await run(['signing-key', 'rewrap'], changed)).stdout).toBe(
      'Encrypted under TESLIM_SECRET: 0 now, 0 before.\nSecrets of webhooks: 3 now, 0 before.\n',
    )
    const again = await run(['signing-key', 'rewrap', '--json'], { TESLIM_SECRET: OTHER })
    expect(JSON.parse(again.stdout)).toEqual({ rewrapped: 0, kept: 0, webhookSecrets: { rewrapped: 0, kept: 3 } })
    for (const [index, each] of (await stored()).entries()) expect(each).not.toBe(before[index])
    await run(['webhook', 'test', EndpointID], { TESLIM_SECRET: OTHER })
    expect(receiver.lastTest().headers).toMatchObject({ 'x-tenant': 'of-nobody-else' })
    await run(['webhook', 'remove', EndpointID], { TESLIM_SECRET: OTHER })
  })

  it('are paused with their customer, which is said', async () => {
    const { add, run, json, other } = stage
    const { EndpointID } = (await add('--customer', other.email)).Endpoint
    const { EndpointID: all } = (await add()).Endpoint
    const { stdout } = await run(['customer', 'remove', other.email])
    expect(stdout).toMatch(/^The customer .*\n1 endpoint of it is paused: teslim webhook list\n$/)
    expect(await json('webhook', 'list')).toMatchObject([
      { EndpointID, State: 'paused', PausedReason: 'customer-removed' },
      { EndpointID: all, State: 'active' },
    ])
    expect(await json('customer', 'remove', other.id, '--erase')).not.toHaveProperty('endpointsPaused')
    await run(['webhook', 'resume', EndpointID])
    expect(await json('customer', 'remove', other.id, '--erase')).toMatchObject({ endpointsPaused: 1 })
    for (const id of [EndpointID, all]) await run(['webhook', 'remove', id])
  })

  it.each([
    [['add'], 2, '--url is required'],
    [['add', '--url', ''], 2, 'The URL does not have the form https://HOST/PATH.'],
    [['add', '--url', 'https://10.0.0.1/'], 2, '10.0.0.1'],
    [['add', '--url', 'URL', '--customer', 'nobody@b.co'], 1, 'There is no customer "nobody@b.co".'],
    [['add', '--url', 'URL', '--status', '4'], 2, '--status takes numbers from 0 to 3'],
    [['add', '--url', 'URL', '--give-up', '59s'], 2, 'from 1m to 365d'],
    [['add', '--url', 'URL', '--from', 'yesterday'], 2, '--from takes now, start, a cursor'],
    [['add', '--url', 'URL', '--from', '2999-01-01'], 2, 'not in the future'],
    [['add', '--url', 'URL', '--from', 'cAAAAAAAAAAAAAAAAAAAAAAAA'], 2, 'no cursor of the feed'],
    [['add', '--url', 'URL', '--ca', 'missing.pem'], 2, /--ca .*missing\.pem cannot be read: ENOENT/],
    [['add', '--url', 'URL', '--ca', 'text.pem'], 2, 'must be certificates in PEM'],
    [['show'], 2, 'ENDPOINTID is missing'],
    [['show', 'nothing'], 1, 'There is no endpoint "nothing".'],
    [['show', 'x', '--order', 'a', '--receipt', 'b'], 2, 'choose one of --order and --receipt'],
    [['show', 'x', '--customer', 'a@b.co'], 2, '--customer belongs to --order'],
    [['replay', 'x'], 2, 'one of --from, --order, --receipt, --set-aside and --cancel'],
    [['replay', 'x', '--from', 'start', '--set-aside'], 2, 'one of --from, --order'],
    [['replay', 'x', '--cancel', '--receipt', 'a'], 2, 'one of --from, --order'],
    [['replay', 'x', '--set-aside', '--status', '1'], 2, '--to and --status belong to --from or --order'],
    [['replay', 'x', '--from', 'start', '--customer', 'a@b.co'], 2, '--customer belongs to --order'],
    [['replay', 'x', '--from', 'now'], 2, '--from takes start, a cursor'],
    [['replay', 'x', '--from', 'start', '--to', 'start'], 2, '--to takes a cursor'],
    [['replay', 'x', '--from', 'start', '--to', '2999-01-01'], 2, '--to takes a time that is not in the future'],
    [['rotate-secret', 'x', '--overlap', 'long'], 2, '--overlap takes a time'],
    [['rotate-secret', 'x', '--overlap', '367d'], 2, 'at most 366d'],
    [['pause', 'a', 'b'], 2, '"b" is one word too many'],
  ] as const)('refuse %j, in one line', async (args, exit, line) => {
    const { webhook, cwd, countEndpoints } = stage
    writeFileSync(join(cwd, 'text.pem'), 'no certificate\n')
    const { status, stdout, stderr } = await webhook(...args.map((word) => (word === 'URL' ? receiver.url : word)))
    const wanted = typeof line === 'string' ? expect.stringContaining(line) : expect.stringMatching(line)
    expect([status, stdout, stderr.trimEnd().split('\n')]).toEqual([exit, '', [wanted]])
    expect(countEndpoints()).toBe(0)
  })

  it.each([
    ['add', '--url', 'https://a.b/', '--customer', 'nobody@b.co', '--from'],
    ['replay', 'x', '--from'],
    ['replay', 'x', '--from', 'start', '--to'],
  ])('take a local time, and with --utc one in UTC: %s', async (...args) => {
    const later = new Date(Date.now() + 6 * 3_600_000).toISOString().slice(0, 16).replace('T', ' ')
    const env = { TZ: 'Pacific/Kiritimati' }
    const [local, utc] = [[later], [later, '--utc']].map((more) => stage.run(['webhook', ...args, ...more], env))
    expect(await local).toMatchObject({ status: 1, stderr: expect.stringContaining('There is no ') })
    expect(await utc).toMatchObject({ status: 2, stderr: expect.stringContaining('not in the future') })
  })

  it('fit a terminal of 80 columns', async () => {
    const { add, run, one } = stage
    const { EndpointID } = (await add('--customer', one.email, '--from', 'start')).Endpoint
    await run(['webhook', 'test', EndpointID])
    for (const args of [['list'], ['show', EndpointID]]) {
      const { stdout } = await run(['webhook', ...args], {}, 80)
      const words = (line: string): boolean => line.trim().includes(' ')
      expect(stdout.split('\n').filter((line) => line.length > 80 && words(line))).toEqual([])
    }
    await run(['webhook', 'remove', EndpointID])
  })
})

it('doctor names endpoints that are paused, that fail, and that are behind', async () => {
  const { add, run, withStore, env } = await makeStage()
  const doctor = async (more = {}) => {
    const { stdout } = await run(['doctor', '--json'], more)
    return (JSON.parse(stdout).checks as { name: string; status: string; message: string }[])
      .filter(({ name }) => name === 'webhooks')
      .map(({ status, message }) => `${status}: ${message}`)
  }
  expect(await doctor()).toEqual([])
  const ids: string[] = []
  for (let count = 0; count < 3; count++) ids.push((await add()).Endpoint.EndpointID)
  expect(await doctor()).toEqual(['ok: 3 endpoints, none failing or behind'])
  const [gone = '', restored = '', failing = ''] = ids
  const behind = (await add('--from', 'start')).Endpoint.EndpointID
  const failedAt = Date.now()
  await withStore(async ({ webhooks }) => {
    await webhooks.change(gone, { paused: { reason: 'gone', at: 1 } })
    await webhooks.change(restored, { paused: { reason: 'restored', at: 1 } })
    await webhooks.hold('me', 60_000, 10)
    const kept = [waiting(1, { firstFailedAt: failedAt, nextAt: failedAt + 60_000 })]
    await webhooks.save('me', [save(failing, { position: 3, kept })], failedAt)
    await webhooks.release('me')
  })
  const [since, next] = [failedAt, failedAt + 60_000].map(utcTimes.text)
  expect(await doctor()).toEqual([
    `warning: paused, since they answered 410: ${gone}: resume them, or remove them`,
    `warning: paused, since the store was restored or copied: ${restored}: teslim webhook resume ID`,
    `warning: failing: ${failing} since ${since}, next try ${next}: see teslim webhook show ID`,
    `warning: behind by more than 10 minutes: ${behind}: see teslim webhook show ID`,
  ])
  const pausedFor = (milliseconds: number) =>
    withStore(({ webhooks }) =>
      webhooks.change(failing, { paused: { reason: 'operator', at: Date.now() - milliseconds } }),
    )
  await pausedFor(3_500_000)
  expect((await doctor()).join()).not.toContain('by an operator')
  await pausedFor(3_700_000)
  expect(await doctor()).toContain(
    `warning: paused, by an operator for more than an hour: ${failing}: teslim webhook resume ID`,
  )
  expect(await doctor({ TESLIM_SECRET: '' })).toContainEqual(
    expect.stringMatching(/^failed: the secret of the webhook/),
  )
  expect(readFileSync(join(env.DATABASE_URL.replace('sqlite:', ''))).includes('whsec_')).toBe(false)
})

it('a backup says whether TESLIM_SECRET opens the secrets of its endpoints; restored without it, the store sends nothing', async () => {
  const { cwd, add, json, run } = await makeStage()
  expect(await json('backup', 'none.db')).toMatchObject({ sha256: expect.any(String) })
  expect((await run(['restore', '--check', 'none.db'])).stdout).toContain(
    'It has no signing keys, so it needs no secret.',
  )
  const { EndpointID } = (await add()).Endpoint
  await json('backup', 'b.db')
  expect((await run(['restore', '--check', 'b.db'])).stdout).toContain(
    'Its signing keys (0) and the secrets of its endpoints (1) are encrypted under TESLIM_SECRET, which opens them: keep that secret.',
  )
  expect(await json('restore', '--check', 'b.db')).toMatchObject({ endpoints: 1, endpointsNotOpened: 0 })
  rmSync(join(cwd, 'b.db.hmac'))
  const { status, stdout } = await run(['restore', 'b.db', '--unproved'], { TESLIM_SECRET: OTHER })
  expect([status, stdout]).toEqual([
    0,
    expect.stringContaining(
      'The secrets of 1 endpoint cannot be opened: set the TESLIM_SECRET of then, or replace the endpoints.',
    ),
  ])
  expect(stdout).toContain(
    'This store sends nothing to 1 endpoint: it is paused, in case this store is for tests. To go on: teslim webhook resume ENDPOINTID',
  )
  expect(stdout).not.toContain('needs no secret')
  expect(await json('webhook', 'list')).toMatchObject([{ EndpointID, State: 'paused', PausedReason: 'restored' }])
  expect(await json('webhook', 'resume', EndpointID)).toMatchObject({ State: 'active' })
  expect(await json('restore', '--recovered')).toMatchObject({ recovered: true, endpointsPaused: 1 })
  expect(await json('restore', '--recovered')).not.toHaveProperty('endpointsPaused')
})

it('a restore names endpoints that are there again, and secrets that were replaced since', async () => {
  const { add, json } = await makeStage()
  const [removed, rotated, kept] = [await add(), await add(), await add()].map(({ Endpoint }) => Endpoint.EndpointID)
  await json('backup', 'b.db')
  await json('webhook', 'remove', removed)
  await json('webhook', 'rotate-secret', rotated)
  await json('webhook', 'pause', kept)
  const { undone, endpointsPaused } = await json('restore', 'b.db')
  expect([undone, endpointsPaused]).toEqual([
    [
      {
        what: `endpoint ${rotated} (${receiver.url})`,
        happened: 'may have its former secret again',
        command: `teslim webhook rotate-secret ${rotated}`,
      },
      {
        what: `endpoint ${removed} (${receiver.url})`,
        happened: 'is not in the replaced store, and is there again, paused',
        command: `teslim webhook remove ${removed}`,
      },
    ],
    3,
  ])
})

it.each(storesOfRun('postgres'))(
  'a copy sends nothing until its endpoints are resumed, which have their headers, and the store itself goes on',
  async (_, emptyStore) => {
    const { add, json, run } = await makeStage()
    const { EndpointID } = (await add()).Endpoint
    await json('webhook', 'set', EndpointID, '--header', 'X-Tenant: 7')
    const { DATABASE_URL: url } = await emptyStore()
    const { status, stdout } = await run(['copy', '--to', url])
    expect([status, stdout]).toEqual([
      0,
      expect.stringContaining(
        'The copy sends nothing to 1 endpoint: it is paused, in case the copy is for tests. To go on: teslim webhook resume ENDPOINTID',
      ),
    ])
    const copied = await run(['webhook', 'list', '--json'], { DATABASE_URL: url })
    expect(JSON.parse(copied.stdout)).toMatchObject([{ EndpointID, State: 'paused', PausedReason: 'restored' }])
    expect(await json('webhook', 'list')).toMatchObject([{ EndpointID, State: 'active' }])
    expect(await json('copy', '--to', url)).toMatchObject({ complete: true, endpointsPaused: 1 })
    await run(['webhook', 'test', EndpointID], { DATABASE_URL: url })
    expect(receiver.lastTest().headers).toMatchObject({ 'x-tenant': '7' })
  },
)

it('without a secret of the service those of endpoints and headers are stored as they are, until a rewrap', async () => {
  const { run, withStore } = await makeStage()
  const none = { TESLIM_SECRET: '' }
  const added = await run(['webhook', 'add', '--url', receiver.url, '--json'], none)
  const { Endpoint, Secret } = JSON.parse(added.stdout)
  await run(['webhook', 'set', Endpoint.EndpointID, '--header', 'X-Tenant: 7'], none)
  const stored = () => withStore(async ({ webhooks }) => webhooks.find(Endpoint.EndpointID))
  expect(await stored()).toMatchObject({ secret: Secret, headers: JSON.stringify({ 'X-Tenant': '"7"' }) })
  expect((await run(['doctor'])).stdout).toMatch(/warning +webhooks +2 secrets? .* rewrap/)
  expect((await run(['signing-key', 'rewrap'])).stdout).toContain('Secrets of webhooks: 2 now, 0 before.')
  const sealed = [/^v1\./, /^\{"X-Tenant":"v1\./].map((each) => expect.stringMatching(each))
  expect(await stored()).toMatchObject({ secret: sealed[0], headers: sealed[1] })
})
