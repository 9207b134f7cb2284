import { describe, expect } from 'vitest'
import { webhook } from '../../support/store-rows.ts'
import { until } from '../../support/until.ts'
import { ALL, holderName, LONG, NOW, save } from '../../support/webhook-rows.ts'
import type { Open } from './promises.ts'
import { held, webhookPromises } from './webhook-promises.ts'

export function describeWebhookLeases(name: string, open: Open): void {
  describe(`${name}: leases on webhooks`, () => {
    const { promise } = webhookPromises(open)

    promise('nothing is claimed or renewed where there is nothing', async ({ webhooks }) => {
      const holder = holderName()
      expect(await webhooks.claim(holder, LONG, ALL)).toEqual([])
      expect(await webhooks.renew(holder, LONG)).toEqual([])
      await webhooks.release(holder)
      expect(await webhooks.save(holder, [], NOW)).toEqual([])
    })

    promise('an endpoint has one holder at a time, whoever comes at the same time', async ({ webhooks }) => {
      const all = Array.from({ length: 12 }, () => webhook())
      for (const each of all) await webhooks.add(each)
      const holders = Array.from({ length: 6 }, holderName)
      const claimed = await Promise.all(holders.map((holder) => webhooks.claim(holder, LONG, 3)))
      expect(Math.max(...claimed.map((ids) => ids.length))).toBeLessThanOrEqual(3)
      const more = await Promise.all(holders.map((holder) => webhooks.claim(holder, LONG, ALL)))
      const ids = all.map(({ id }) => id)
      expect([...claimed, ...more].flat().sort()).toEqual(ids)
      for (const [index, holder] of holders.entries()) {
        const theirs = [...(claimed[index] ?? []), ...(more[index] ?? [])].sort()
        expect((await webhooks.renew(holder, LONG)).map(({ id }) => id)).toEqual(theirs)
      }
      expect(await webhooks.claim(holderName(), LONG, ALL)).toEqual([])
    })

    promise('no more are claimed than asked for', async ({ webhooks }) => {
      for (let count = 0; count < 3; count++) await webhooks.add(webhook())
      const holder = holderName()
      expect(await webhooks.claim(holder, LONG, 0)).toEqual([])
      for (const expected of [2, 1, 0]) expect(await webhooks.claim(holder, LONG, 2)).toHaveLength(expected)
    })

    promise('a lease that has ended is neither renewed nor saved under, and another holder gets it', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      expect(await webhooks.renew(holder, 1)).toMatchObject([{ id }])
      const next = holderName()
      await until('the lease has ended', async () => (await webhooks.claim(next, LONG, ALL)).includes(id))
      expect(await webhooks.renew(holder, LONG)).toEqual([])
      expect(await webhooks.save(holder, [save(id, { place: { position: 5, generation: 0 } })], NOW)).toEqual([])
      await webhooks.release(holder)
      expect(await webhooks.renew(next, LONG)).toMatchObject([{ id }])
      expect((await webhooks.find(id))?.place.position).toBe(0)
    })

    promise('a lease that has ended, and that nobody else has, must be claimed again', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      await webhooks.renew(holder, 1)
      await until('the lease has ended', async () => (await webhooks.renew(holder, 1)).length === 0)
      expect(await webhooks.save(holder, [save(id)], NOW)).toEqual([])
      expect(await webhooks.claim(holder, LONG, ALL)).toEqual([id])
      expect(await webhooks.save(holder, [save(id)], NOW)).toEqual([id])
    })

    promise('a renewal makes a lease longer, and tells what changed', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const state = { id, version: 1, epoch: 1, paused: false }
      expect(await webhooks.renew(holder, 1000)).toEqual([state])
      await webhooks.change(id, { paused: { reason: 'operator', at: NOW } })
      expect(await webhooks.renew(holder, 1000)).toEqual([{ ...state, version: 2, paused: true }])
      await webhooks.change(id, { paused: null, place: { position: 4, generation: 0 } })
      expect(await webhooks.renew(holder, LONG)).toEqual([{ ...state, version: 3, epoch: 2 }])
    })

    promise('a paused endpoint is not claimed, and its holder may still save', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      await webhooks.change(id, { paused: { reason: 'operator', at: NOW } })
      expect(await webhooks.save(holder, [save(id, { lastSuccessAt: NOW })], NOW)).toEqual([id])
      await webhooks.release(holder)
      expect(await webhooks.claim(holder, LONG, ALL)).toEqual([])
      await webhooks.change(id, { paused: null })
      expect(await webhooks.claim(holder, LONG, ALL)).toEqual([id])
    })

    promise('a holder releases some or all of what it holds, and nothing of others', async ({ webhooks }) => {
      const all = Array.from({ length: 3 }, () => webhook())
      for (const each of all) await webhooks.add(each)
      const [one, other] = [holderName(), holderName()]
      const [first, second] = (await webhooks.claim(one, LONG, 2)).sort() as [string, string]
      const [third] = (await webhooks.claim(other, LONG, 2)) as [string]
      await webhooks.release(one, [first, third, 'none'])
      expect(await webhooks.save(one, [save(first)], NOW)).toEqual([])
      expect(await webhooks.renew(one, LONG)).toMatchObject([{ id: second }])
      expect(await webhooks.renew(other, LONG)).toMatchObject([{ id: third }])
      await webhooks.release(one, [])
      expect(await webhooks.renew(one, LONG)).toHaveLength(1)
      await webhooks.release(one)
      expect((await webhooks.claim(other, LONG, ALL)).sort()).toEqual([first, second])
    })
  })
}
