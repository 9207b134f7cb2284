import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { lockForServer, serverOn } from '#src/store/sqlite/locks/server-lock.ts'
import type { NewDelivery } from '#src/store/store.ts'
import { receivedAt } from '../store/conformance/purging.ts'
import { runCommand } from '../support/processes/command.ts'
import { commandStage } from '../support/processes/command-stage.ts'
import { createStore } from '../support/store/create-store.ts'
import { apiKey, customer, nextNumber } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'
import { addEndpointWith, confirmedAt } from '../support/webhooks/unsent.ts'

const DAY = 86_400_000

/** A store with deliveries of an age in days, in a folder of its own. */
async function makeStore(more: (customerId: string) => readonly (Partial<NewDelivery> & { days: number })[]) {
  const stage = commandStage()
  const one = customer({ email: `c${nextNumber()}@example.com` })
  const sent = more(one.id).map(({ days, ...each }) => receivedAt(Date.now() - days * DAY, one.id, each))
  await stage.withStore(async ({ customers, apiKeys, deliveries }) => {
    await customers.insert(one)
    await apiKeys.insert(apiKey(one.id))
    await Promise.all(sent.map((each) => deliveries.deliver(each)))
  })
  return { ...stage, one, sent }
}

/** Keeps the log from being emptied until its transaction ends. */
function reading(path: string): DatabaseSync {
  const reader = new DatabaseSync(path, { readOnly: true })
  reader.exec('BEGIN; SELECT count(*) FROM delivery')
  return reader
}

const three = () => [
  { days: 500, orderId: 'a' },
  { days: 450, orderId: 'a', status: 2 },
  { days: 1, orderId: 'b' },
]

describe('teslim purge', () => {
  const empty = makeStore(() => [])

  it('counts first, removes what is old, keeps the last delivery of an order, and goes on where it was', async () => {
    const { sent, json, run } = await makeStore(three)
    const counted = { deliveries: 1, orders: 0, payloadBytes: sent[0]?.payload.length, months: [], webhooks: [] }
    const before = expect.stringMatching(/^\d{4}-.*Z$/)
    expect(await json('purge', '--older', '400d', '--dry-run')).toEqual({ before, dryRun: true, ...counted })
    expect(await json('delivery', 'list')).toHaveLength(3)
    expect(await json('purge', '--older', '400d')).toEqual({ before, dryRun: false, ...counted })
    expect(await json('purge', '--older', '400d')).toMatchObject({ deliveries: 0 })
    expect((await json('delivery', 'list')).map(({ OrderID }: { OrderID: string }) => OrderID)).toEqual(['a', 'b'])
    expect((await run('purge', '--older', '400d', '--orders', '--dry-run')).stdout).toMatch(
      /^Would remove 1 delivery \(\d+ bytes of payload\) and 1 order, received before /,
    )
    expect(await json('purge', '--older', '400d', '--orders')).toMatchObject({ deliveries: 1, orders: 1 })
    expect((await json('order', 'list')).map(({ OrderID }: { OrderID: string }) => OrderID)).toEqual(['b'])
    expect(await json('audit', 'list', '--action', 'delivery.purge')).toMatchObject([
      { details: { orders: false, unsent: false } },
      { details: { orders: true, unsent: false } },
    ])
  })

  it('keeps what an endpoint has not taken, erased or not, says how much, and with --unsent removes and counts it', async () => {
    const { one, withStore, json, run } = await makeStore(() =>
      [500, 499, 498, 497, 496, 1].map((days) => ({ days, orderId: null })),
    )
    const [id, upToDate] = await withStore(async (store) => [
      await addEndpointWith(store, { position: 2 }, { confirmed: [confirmedAt(4)] }),
      await addEndpointWith(store, { position: 6 }),
    ])
    const removedUnsent = () =>
      withStore(async ({ webhooks }) => {
        const found = new Map((await webhooks.list()).map((each) => [each.id, each.removedUnsent]))
        return [id, upToDate].map((each) => found.get(each as string))
      })
    expect(await json('customer', 'remove', one.id, '--erase')).toMatchObject({ erased: 6 })
    const old = ['--older', '400d']
    const kept = { deliveries: 3, orders: 0, webhooks: [{ id, kept: 2, removed: 0 }] }
    expect(await json('purge', ...old, '--dry-run')).toMatchObject({ dryRun: true, ...kept })
    expect((await run('purge', ...old, '--dry-run')).stdout).toContain(
      `Would keep 2 old deliveries that webhook endpoint ${id} has not taken: see teslim webhook show ${id}. --unsent removes them, too.\n`,
    )
    expect(await json('delivery', 'list')).toHaveLength(6)
    expect(await json('purge', ...old)).toMatchObject({ dryRun: false, ...kept })
    expect(await json('delivery', 'list')).toHaveLength(3)
    expect((await run('purge', ...old)).stdout).toMatch(
      new RegExp(`^Removed 0 deliveries .*\nKept 2 old deliveries that webhook endpoint ${id} has not taken: `),
    )
    expect((await run('purge', ...old, '--unsent', '--dry-run')).stdout).toContain(
      `Of what would be removed, webhook endpoint ${id} has not taken 2 deliveries.\n`,
    )
    expect(await removedUnsent()).toEqual([0, 0])
    expect(await json('purge', ...old, '--unsent')).toMatchObject({
      deliveries: 2,
      webhooks: [{ id, kept: 0, removed: 2 }],
    })
    expect(await json('delivery', 'list')).toHaveLength(1)
    expect(await removedUnsent()).toEqual([2, 0])
    const events = await json('audit', 'list', '--action', 'delivery.purge')
    expect(events).toMatchObject([false, true].map((unsent) => ({ details: { unsent } })))
  })

  it.each([
    [[], '--older is required'],
    [['--older', 'old'], '--older takes a time such as 400d or 24h, not "old"'],
    [['--older', '-1d'], '--older'],
    [['--older', '2m'], '--older 2m is less than TESLIM_IDEMPOTENCY_DAYS (7 days): retries would be stored twice'],
    [['--older', '167h', '--dry-run'], '--older 167h is less than TESLIM_IDEMPOTENCY_DAYS (7 days)'],
    [['--orders', '--rewrite'], '--orders, --unsent and --dry-run need --older'],
    [['--unsent', '--rewrite'], '--orders, --unsent and --dry-run need --older'],
  ])('refuses %j', async (args, why) => {
    const { run } = await empty
    const { status, stdout, stderr } = await run('purge', ...args)
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toContain(why)
  })

  it('may go down to the days that idempotency keys are remembered, and 0 means any age', async () => {
    const { json } = await makeStore(() => [
      { days: 8, orderId: 'a' },
      { days: 3, orderId: 'a' },
      { days: 2, orderId: 'a' },
    ])
    expect(await json('purge', '--older', '7d', '--dry-run')).toMatchObject({ deliveries: 1 })
    expect(await json('purge', '--older', '0', '--dry-run')).toMatchObject({ deliveries: 2 })
  })

  const large = () =>
    Array.from({ length: 2001 }, () => ({ days: 500, orderId: null, payload: Buffer.alloc(4000, 'x') }))

  it('lets the file shrink', async () => {
    const { path, json } = await makeStore(large)
    const before = statSync(path).size
    expect(await json('purge', '--older', '400d')).toMatchObject({ deliveries: 2000, payloadBytes: 8_000_000 })
    expect(statSync(path).size).toBeLessThan(before / 10)
  })

  it('lets a file shrink in which Litestream was first', async () => {
    const cwd = tempFolder()
    mkdirSync(join(cwd, 'data'))
    const path = join(cwd, 'data/teslim.db')
    const file = new DatabaseSync(path)
    file.exec('PRAGMA journal_mode = WAL; CREATE TABLE _litestream_lock (id INTEGER)')
    file.close()
    await createStore(cwd)
    const made = new DatabaseSync(path, { readOnly: true })
    expect(made.prepare('PRAGMA auto_vacuum').get()).toEqual({ auto_vacuum: 2 })
    made.close()
  })

  it('keeps servers off the file while it is rewritten, waits for readers to empty its log, and records it', async () => {
    const { path, run, json } = await makeStore(large)
    const reader = reading(path)
    const rewriting = run('purge', '--older', '400d', '--rewrite', '--json')
    await until('servers are kept off', () => serverOn(path)?.startsWith('teslim purge --rewrite, process ') === true)
    expect(() => lockForServer(path, 0)).toThrow('is in use by teslim purge --rewrite, process ')
    expect(() => lockForServer(path, 0)).toThrow(/ Stop that process first\. Several servers need PostgreSQL\.$/)
    expect(() => lockForServer(path, 0, 'teslim copy, ')).toThrow(/ Stop that process first\.$/)
    reader.exec('COMMIT')
    expect(await rewriting).toMatchObject({ status: 0, stderr: '' })
    expect(statSync(`${path}-wal`).size).toBe(0)
    reader.close()
    expect(serverOn(path)).toBeUndefined()
    expect(await json('audit', 'list', '--action', 'store.rewrite')).toMatchObject([{ customerId: null }])
  })
})

describe('teslim customer set', () => {
  it('changes what is given, and records it without the address', async () => {
    const { one, json } = await makeStore(() => [])
    const set = (...args: string[]) => json('customer', 'set', one.id, ...args)
    const moved = await set('--email', ' New@Example.com ', '--region', 'tr', '--region', 'DE')
    expect(moved).toMatchObject({ id: one.id, email: 'new@example.com', regions: ['DE', 'TR'], isApi: true })
    expect(await set('--operator', 'yes')).toMatchObject({ operator: true })
    expect(await set('--read-only', 'yes')).toMatchObject({ operator: true, readOnly: true })
    expect(await set('--api', 'no', '--operator', 'no')).toMatchObject({ isApi: false, operator: false })
    const events = await json('audit', 'list', '--action', 'customer.set')
    expect(events.map(({ details }: { details: object }) => details)).toEqual([
      { email: 'changed', regions: ['tr', 'DE'] },
      { scope: 'operator', payloads: false },
      { scope: 'operator:read', payloads: false },
      { isApi: false, scope: 'customer', payloads: false },
    ])
  })

  it('refuses nothing to change, wrong values, and an address that is taken', async () => {
    const { one, run, json } = await makeStore(() => [])
    await json('customer', 'add', '--email', 'taken@example.com', '--generate')
    for (const [args, status, why] of [
      [[], 2, 'say what to change'],
      [['--read-only', 'yes'], 2, 'Only an operator can be read-only.'],
      [['--api', 'maybe'], 2, '--api'],
      [['--region', 'TUR'], 2, '"TUR" is not a region'],
      [['--email', 'nobody'], 2, 'is not an e-mail address'],
      [['--email', 'taken@example.com'], 1, 'exists already'],
    ] as const) {
      const refused = await run('customer', 'set', one.id, ...args)
      expect(refused).toMatchObject({ status, stderr: expect.stringContaining(why) })
    }
    expect((await run('customer', 'set', 'nobody', '--api', 'no')).status).toBe(1)
  })
})

describe('teslim customer remove', () => {
  it('fails if a reader keeps the log from being emptied', async () => {
    const { cwd, one, path, run } = await makeStore(three)
    const reader = reading(path)
    const { status, stderr } = await runCommand(['customer', 'remove', one.id], { cwd, longestPause: 1 })
    expect([status, stderr]).toEqual([1, expect.stringContaining('since another process reads the log: run this')])
    reader.close()
    expect((await run('customer', 'remove', one.id)).status).toBe(0)
  })

  it('forgets the customer and keeps its deliveries under the id', async () => {
    const { one, json, run } = await makeStore(three)
    expect(await json('customer', 'remove', one.email)).toEqual({ id: one.id, removed: true })
    expect(await json('customer', 'show', one.id)).toMatchObject({
      id: one.id,
      email: null,
      enabled: false,
      regions: [],
      authority: [],
    })
    expect((await json('key', 'list'))[0]).toMatchObject({ state: 'revoked', label: '', lastUsedFrom: null })
    expect(await json('delivery', 'list')).toHaveLength(3)
    expect((await run('customer', 'show', one.email)).status).toBe(1)
    const issued = await run('key', 'issue', '--customer', one.id, '--label', 'x')
    expect([issued.status, issued.stderr]).toEqual([1, expect.stringContaining('was removed')])
    for (const args of [['enable'], ['set', '--api', 'yes'], ['allow', 'X']]) {
      const [action = '', ...more] = args
      const { status, stderr } = await run('customer', action, one.id, ...more)
      expect([status, stderr]).toEqual([1, expect.stringContaining('was removed')])
    }
    expect(await json('customer', 'add', '--email', one.email, '--generate')).toMatchObject({ email: one.email })
    expect((await json('audit', 'list', '--action', 'customer.remove'))[0]).toMatchObject({ customerId: one.id })
  })

  it('with --erase overwrites payloads and order ids, and can be run again', async () => {
    const { one, json, run } = await makeStore(three)
    const unreached = expect.arrayContaining([expect.stringContaining('backups')])
    expect(await json('customer', 'remove', one.email, '--erase')).toEqual({
      id: one.id,
      removed: true,
      erased: 3,
      unreached,
    })
    const [first, ...others] = await json('delivery', 'list')
    expect(others).toHaveLength(2)
    expect(first).toEqual({
      ReceiptID: expect.any(String),
      Status: 1,
      Duplicate: false,
      ReceivedAt: expect.any(String),
      Erased: true,
      CustomerID: one.id,
      KeyID: null,
      KeyLabel: null,
      Address: null,
    })
    expect(await json('order', 'list')).toEqual([])
    expect(await json('customer', 'remove', one.id, '--erase')).toMatchObject({ erased: 0 })
    const lines = (await run('delivery', 'export')).stdout.trim().split('\n')
    expect(lines.filter((line) => line.includes('"Erased":true') && !/Payload|OrderID/.test(line))).toHaveLength(3)
    expect((await run('delivery', 'show', first.ReceiptID)).stdout).toMatch(
      /order {7}erased, if it had one\n(.*\n)* {2}payload {5}erased/,
    )
    const noOrigin = { KeyID: null, KeyLabel: null, Address: null, RequestID: null }
    expect(await json('delivery', 'show', first.ReceiptID)).toEqual({ ...first, ...noOrigin })
    const { status, stdout, stderr } = await run('delivery', 'show', first.ReceiptID, '--payload')
    expect([status, stdout, stderr]).toEqual([1, '', expect.stringContaining('was erased')])
  })
})
