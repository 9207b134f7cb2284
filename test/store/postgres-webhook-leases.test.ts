import { afterAll, describe, expect } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { runSql } from '../support/postgres/postgres-server.ts'
import { newPostgresStore } from '../support/postgres/postgres-session.ts'
import { webhook } from '../support/store/store-rows.ts'
import { until } from '../support/until.ts'
import { ALL, confirmation, holderName, LONG, NOW, save, waiting } from '../support/webhooks/webhook-rows.ts'
import { closeStores } from './conformance/promises.ts'
import { held, webhookPromises } from './conformance/webhook-promises.ts'

const url = newPostgresStore()
afterAll(closeStores)

describe('leases on webhooks', () => {
  const { promise } = webhookPromises(
    async () => (await openStore(loadConfig({ DATABASE_URL: await url }).config, 0)).store,
  )

  promise('nothing is held where there is nothing', async ({ webhooks }) => {
    const holder = holderName()
    expect(await webhooks.hold(holder, LONG, ALL)).toEqual([])
    await webhooks.release(holder)
    expect(await webhooks.save(holder, [], NOW)).toEqual([])
  })

  promise('an endpoint has one holder at a time, whoever comes at the same time', async ({ webhooks }) => {
    const all = Array.from({ length: 12 }, () => webhook())
    for (const each of all) await webhooks.add(each)
    const holders = Array.from({ length: 6 }, holderName)
    const first = await Promise.all(holders.map((holder) => webhooks.hold(holder, LONG, 3)))
    expect(Math.max(...first.map((held) => held.length))).toBeLessThanOrEqual(3)
    const then = await Promise.all(holders.map((holder) => webhooks.hold(holder, LONG, ALL)))
    const ids = all.map(({ id }) => id)
    expect(then.flatMap((held) => held.map(({ id }) => id)).sort()).toEqual(ids)
    for (const [index, before] of first.entries()) {
      expect(before.every(({ isNew }) => isNew)).toBe(true)
      expect(then[index]?.filter(({ isNew }) => !isNew).map(({ id }) => id)).toEqual(before.map(({ id }) => id))
    }
    expect(await webhooks.hold(holderName(), LONG, ALL)).toEqual([])
  })

  promise('no more are taken than asked for', async ({ webhooks }) => {
    for (let count = 0; count < 3; count++) await webhooks.add(webhook())
    const holder = holderName()
    for (const [limit, expected] of [
      [0, 0],
      [2, 2],
      [0, 2],
      [2, 3],
    ] as const)
      expect(await webhooks.hold(holder, LONG, limit)).toHaveLength(expected)
  })

  promise('a lease that has ended is neither renewed nor saved under, and another holder gets it', async (store) => {
    const { webhooks } = store
    const { id, holder } = await held(store)
    expect(await webhooks.hold(holder, 1, 0)).toMatchObject([{ id }])
    const next = holderName()
    await until('the lease has ended', async () => (await webhooks.hold(next, LONG, ALL)).length > 0)
    expect(await webhooks.hold(holder, LONG, ALL)).toEqual([])
    const progress = { position: 5, kept: [waiting(2)], confirmed: [confirmation(1)], gone: 1, hurry: true }
    expect(await webhooks.save(holder, [save(id, progress)], NOW)).toEqual([])
    await webhooks.setReplay(id, { from: 0, until: 9, statuses: null, beganAt: NOW })
    expect(await webhooks.addReplayed(holder, id, NOW, { deliveries: [], position: 9 }, NOW)).toBeUndefined()
    expect(await webhooks.save(holder, [save(id, { position: 5, confirmed: [confirmation(1)] })], NOW)).toEqual([])
    expect(await webhooks.giveUp(holder, id, NOW, NOW)).toBe(0)
    await webhooks.release(holder)
    expect(await webhooks.hold(next, LONG, 0)).toMatchObject([{ id, isNew: false }])
    const untouched = { position: 0, waiting: 0, paused: null, replay: { position: 0 } }
    expect(await webhooks.load(id)).toMatchObject({ webhook: untouched, confirmed: [] })
  })

  promise('a lease that has ended, and that nobody else has, is a new one', async (store) => {
    const { webhooks } = store
    const { id, holder } = await held(store)
    await webhooks.hold(holder, 1, 0)
    await until('the lease has ended', async () => (await webhooks.hold(holder, 1, 0)).length === 0)
    expect(await webhooks.save(holder, [save(id)], NOW)).toEqual([])
    expect(await webhooks.hold(holder, LONG, ALL)).toMatchObject([{ id, isNew: true }])
    expect(await webhooks.save(holder, [save(id)], NOW)).toEqual([id])
  })

  promise('a holder is told what changed, also that an endpoint is paused', async (store) => {
    const { webhooks } = store
    const { id, holder } = await held(store)
    const state = { id, version: 1, paused: false, isNew: false }
    expect(await webhooks.hold(holder, LONG, ALL)).toEqual([state])
    await webhooks.change(id, { paused: { reason: 'operator', at: NOW } })
    expect(await webhooks.hold(holder, LONG, ALL)).toEqual([{ ...state, version: 2, paused: true }])
  })

  promise('a paused endpoint is not taken, and its holder may still save', async (store) => {
    const { webhooks } = store
    const { id, holder } = await held(store)
    await webhooks.change(id, { paused: { reason: 'operator', at: NOW } })
    expect(await webhooks.save(holder, [save(id, { lastSuccessAt: NOW })], NOW)).toEqual([id])
    await webhooks.release(holder)
    expect(await webhooks.hold(holder, LONG, ALL)).toEqual([])
    await webhooks.change(id, { paused: null })
    expect(await webhooks.hold(holder, LONG, ALL)).toMatchObject([{ id }])
  })

  promise('a holder releases some or all of what it holds, and nothing of others', async ({ webhooks }) => {
    const all = Array.from({ length: 3 }, () => webhook())
    for (const each of all) await webhooks.add(each)
    const [one, other] = [holderName(), holderName()]
    const idsOf = async (holder: string, limit: number) =>
      (await webhooks.hold(holder, LONG, limit)).map(({ id }) => id) as [string, string]
    const [first, second] = await idsOf(one, 2)
    const [third] = await idsOf(other, 2)
    await webhooks.release(one, [first, third, 'none'])
    expect(await webhooks.save(one, [save(first)], NOW)).toEqual([])
    expect(await idsOf(one, 0)).toEqual([second])
    expect(await idsOf(other, 0)).toEqual([third])
    await webhooks.release(one, [])
    expect(await idsOf(one, 0)).toEqual([second])
    await webhooks.release(one)
    expect((await idsOf(other, ALL)).sort()).toEqual(all.map(({ id }) => id))
  })

  promise('a failover ends all leases, so that nobody stores what an older store does not go with', async (store) => {
    const { webhooks } = store
    const { id, holder } = await held(store)
    expect(await webhooks.save(holder, [save(id)], NOW)).toEqual([id])
    await runSql(await url, 'UPDATE webhook_progress SET timeline = -1')
    expect(await webhooks.save(holder, [save(id, { position: 5 })], NOW)).toEqual([])
    expect(await webhooks.hold(holder, LONG, 0)).toEqual([])
    expect(await webhooks.hold(holder, LONG, ALL)).toMatchObject([{ id, isNew: true }])
    expect(await webhooks.find(id)).toMatchObject({ position: 0 })
  })
})
