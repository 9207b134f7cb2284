import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Store, WebhookSave } from '#src/store/store.ts'
import { runSql } from '../support/postgres/postgres-server.ts'
import { newPostgresStore, session, untilWaiting } from '../support/postgres/postgres-session.ts'
import { customer, delivery, webhook } from '../support/store/store-rows.ts'
import { openTestStore } from '../support/store/test-store.ts'
import { until } from '../support/until.ts'
import {
  ALL,
  attempt,
  confirmation,
  DAY,
  holderName,
  LONG,
  NOW,
  save,
  waiting,
} from '../support/webhooks/webhook-rows.ts'
import { held } from './conformance/webhook-promises.ts'

const open = (url: string) => openTestStore(url, { TESLIM_DATABASE_POOL: '6' })

/** Two customers with a delivery each, whose positions are 1 and 2. */
async function deliverTwo(store: Store): Promise<[string, string]> {
  const [one, other] = [customer(), customer()]
  for (const each of [one, other]) {
    await store.customers.insert(each)
    await store.deliveries.deliver(delivery(each.id))
  }
  return [one.id, other.id]
}

const answers = async ({ webhooks }: Store, id: string) =>
  (await webhooks.attempts(id, ALL)).map(({ position, response }) => [position, response])

it('a save that waited while the customer was erased keeps no answer', async () => {
  const url = await newPostgresStore()
  const store = await open(url)
  const [one] = await deliverTwo(store)
  const { id, holder } = await held(store)
  const locker = await session(url)
  await locker.query('BEGIN; SELECT FROM webhook_progress FOR UPDATE')
  const attempts = [attempt({ position: 1 }), attempt({ position: 2 })]
  const saving = store.webhooks.save(holder, [save(id, { attempts })], NOW)
  await untilWaiting(url)
  await store.customers.remove(one, { tokenGeneration: 'ended', now: 1, erase: true })
  await locker.query('COMMIT')
  expect(await saving).toEqual([id])
  expect(await answers(store, id)).toEqual([
    [2, 'Oops.'],
    [1, null],
  ])
})

it('an erasure while saves run leaves no answer, and disturbs no save', async () => {
  const url = await newPostgresStore()
  const [store, replica] = [await open(url), await open(url)]
  const [one] = await deliverTwo(store)
  const first = await held(store)
  const second = await held(replica)
  const stop = new AbortController()
  let saves = 0
  const push = async ({ webhooks }: Store, { id, holder }: typeof first) => {
    while (!stop.signal.aborted) {
      const attempts = Array.from({ length: 40 }, (_, n) => attempt({ at: NOW - (n % 3) * DAY, position: 1 + (n % 2) }))
      expect(await webhooks.save(holder, [save(id, { attempts })], NOW)).toEqual([id])
      saves++
    }
  }
  const pushing = Promise.all([push(store, first), push(replica, second)])
  await until('many attempts are stored', () => saves > 30)
  await replica.customers.remove(one, { tokenGeneration: 'ended', now: 1, erase: true })
  const before = saves
  await until('saves go on', () => saves > before + 20)
  while (await store.purges.eraseNames(one));
  stop.abort()
  await pushing
  for (const { id } of [first, second]) {
    const all = await answers(store, id)
    expect(all).toContainEqual([2, 'Oops.'])
    expect(all).not.toContainEqual([1, 'Oops.'])
  }
})

it('holders, operators and erasures that come at once wait for each other, and nobody forever', async () => {
  const url = await newPostgresStore()
  const stores = [await open(url), await open(url)] as const
  const [{ webhooks, customers }, { webhooks: others }] = stores
  const [one] = await deliverTwo(stores[0])
  const all = Array.from({ length: 8 }, () => webhook({ customerId: one }))
  for (const each of all) await webhooks.add(each)
  const ids = all.map(({ id }) => id)
  const some = (round: number): string => ids[(round * 5) % ids.length] as string
  const minutes = [{ minute: NOW, succeeded: 1, failed: 0, longestMilliseconds: 1 }]
  const progress = (round: number): Partial<WebhookSave> => ({
    position: round,
    confirmed: [confirmation(round)],
    kept: [waiting(round), waiting(1, { nextAt: null, setAsideAt: NOW })],
    settled: [{ position: round - 1, lane: 1 - round }],
    attempts: [attempt({ position: 1, at: NOW - DAY - 1 }), attempt({ position: 1 })],
    minutes,
  })
  const holder = async (store: typeof webhooks, turned: boolean) => {
    const name = holderName()
    for (let round = 1; round < 60; round++) {
      const mine = await store.hold(name, LONG, 5)
      const saves = mine.map(({ id, version }) =>
        save(id, { ...progress(round), gone: round % 5 === 0 ? version : null }),
      )
      await Promise.all([
        store.save(name, turned ? saves.toReversed() : saves, NOW),
        store.hold(name, LONG, 0),
        store.save(name, turned ? saves : saves.toReversed(), NOW),
      ])
      await store.release(name, mine.map(({ id }) => id).toReversed())
    }
  }
  const operator = async (store: typeof webhooks) => {
    for (let round = 0; round < 60; round++) {
      await store.replay(some(round), round % 2 ? 'set-aside' : [{ position: 1, lane: -1 }], NOW)
      await store.setReplay(some(round), round % 2 ? { from: 0, until: 9, statuses: null, beganAt: NOW } : null)
      await store.change(some(round + 1), { paused: null, secret: 'sealed' })
      await store.pauseAll('operator', NOW, one)
      const rewraps = ids.map((id) => ({ id, which: 'secret' as const, from: 'sealed', to: 'sealed' }))
      expect(await store.rewrap(round % 2 ? rewraps : rewraps.toReversed())).toBe(true)
      for (const id of ids) await store.change(id, { paused: null })
      await store.recordAttempt(some(round), attempt({ position: 1 }))
    }
  }
  const eraser = async () => {
    for (let round = 0; round < 60; round++) {
      await customers.remove(one, { tokenGeneration: 'ended', now: 1, erase: true })
      await stores[0].purges.eraseNames(one)
    }
  }
  const working = [holder(webhooks, false), holder(others, true), operator(webhooks), operator(others), eraser()]
  await Promise.all(working)
  for (const { id, version, waiting, failing, setAside } of await webhooks.list()) {
    expect(version).toBeGreaterThan(100)
    const rows = await runSql(url, `SELECT failures, set_aside_at FROM webhook_waiting WHERE webhook = '${id}'`)
    const waits = rows.filter((row) => row.set_aside_at === null)
    const counted = [waits.length, waits.filter((row) => Number(row.failures) > 0).length, rows.length - waits.length]
    expect([waiting, failing, setAside]).toEqual(counted)
  }
  for (const id of ids) expect(await webhooks.remove(id)).toBe(true)
  for (const table of ['', '_progress', '_waiting', '_confirmed', '_replay', '_attempt', '_minute'].map(
    (part) => `webhook${part}`,
  ))
    expect([table, await runSql(url, `SELECT FROM ${table}`)]).toEqual([table, []])
})

it('saves of the same endpoints in another order wait for each other', async () => {
  const url = await newPostgresStore()
  const { webhooks } = await open(url)
  const all = Array.from({ length: 3 }, () => webhook())
  for (const each of all) await webhooks.add(each)
  const holder = holderName()
  const ids = all.map(({ id }) => id)
  expect(await webhooks.hold(holder, LONG, ALL)).toHaveLength(ids.length)
  const locker = await session(url)
  await locker.query('BEGIN')
  await locker.query('SELECT FROM webhook_progress WHERE webhook = $1 FOR UPDATE', [ids[1]])
  const saves = ids.map((id) => save(id))
  const first = webhooks.save(holder, saves, NOW)
  await untilWaiting(url)
  const rest = [
    webhooks.save(holder, saves.toReversed(), NOW),
    webhooks.hold(holder, LONG, 0),
    webhooks.release(holder, []),
  ]
  await untilWaiting(url, 3)
  await locker.query('COMMIT')
  expect([await first, await rest[0]]).toEqual([ids, ids])
  await Promise.all(rest)
})

it('an attempt that is recorded while the endpoint is removed does not stay', async () => {
  const url = await newPostgresStore()
  const store = await open(url)
  for (let round = 0; round < 20; round++) {
    const one = webhook()
    await store.webhooks.add(one)
    const recording = Array.from({ length: 4 }, () => store.webhooks.recordAttempt(one.id, attempt()))
    await Promise.all([...recording, store.webhooks.remove(one.id)])
  }
  expect(await runSql(url, 'SELECT FROM webhook_attempt')).toEqual([])
})

it('a role with the grants of service-role.sql pushes, and administers endpoints', async () => {
  const url = new URL(await newPostgresStore())
  const owner = await open(url.href)
  await deliverTwo(owner)
  const role = `service_${randomUUID().replaceAll('-', '')}`
  const grants = readFileSync(join(import.meta.dirname, '../../deploy/postgres/service-role.sql'), 'utf8')
  await runSql(url.href, grants.replaceAll('teslim_service', role))
  const { store } = await openStore(
    loadConfig({ DATABASE_URL: Object.assign(new URL(url), { username: role }).href }).config,
    0,
  )
  const { webhooks } = store
  const { id, holder } = await held(store)
  const more = {
    kept: [waiting(1), waiting(2, { nextAt: null, setAsideAt: NOW })],
    confirmed: [confirmation(7)],
    attempts: [attempt({ position: 1 })],
    minutes: [{ minute: NOW, succeeded: 1, failed: 0, longestMilliseconds: 1 }],
  }
  expect(await webhooks.save(holder, [save(id, { ...more, gone: 1 })], NOW)).toEqual([id])
  await webhooks.recordAttempt(id, attempt())
  expect(await webhooks.hold(holder, LONG, ALL)).toHaveLength(1)
  expect(await webhooks.replay(id, 'set-aside', NOW)).toBe(1)
  await webhooks.setReplay(id, { from: 0, until: 9, statuses: null, beganAt: NOW })
  expect(await webhooks.addReplayed(holder, id, NOW, { deliveries: [], position: 9 }, NOW)).toBe(1)
  expect((await webhooks.due(id, NOW, ALL)).deliveries).toMatchObject([{ position: 2 }])
  expect(await webhooks.change(id, { paused: null })).toMatchObject({ paused: null, replay: null })
  expect(await webhooks.rewrap([{ id, which: 'secret', from: 'sealed', to: 'new' }])).toBe(true)
  expect(await webhooks.load(id)).toMatchObject({ webhook: { secret: 'new' }, confirmed: [7] })
  await webhooks.release(holder)
  expect(await webhooks.pauseAll('operator', NOW)).toBe(1)
  expect(await webhooks.remove(id)).toBe(true)
  await store.close()
  await runSql(url.href, `DROP OWNED BY ${role}; DROP ROLE ${role}`)
})
