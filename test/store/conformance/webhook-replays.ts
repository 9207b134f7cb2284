import { describe, expect } from 'vitest'
import type { Store } from '#src/store/store.ts'
import { ALL, NOW, save, untried, waiting } from '../../support/webhooks/webhook-rows.ts'
import type { Open } from './promises.ts'
import { held, webhookPromises } from './webhook-promises.ts'

const laned = (position: number, lane = -position) => ({ position, lane })

export function describeWebhookReplays(name: string, open: Open): void {
  describe(`${name}: replays to a webhook`, () => {
    const { promise } = webhookPromises(open)

    const dueOf = async ({ webhooks }: Store, id: string, now: number) =>
      (await webhooks.due(id, now, ALL)).deliveries.map(({ receiptId: _, receivedAt: __, ...each }) => each)

    promise('send again now what is asked for, also what failed and would be tried later', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const refused = waiting(3, { nextAt: NOW + 1000 })
      const other = waiting(2, { nextAt: NOW + 1000 })
      const kept = [
        refused,
        other,
        waiting(4, { nextAt: null, setAsideAt: NOW }),
        waiting(12, { nextAt: null, setAsideAt: NOW }),
      ]
      await webhooks.save(holder, [save(id, { position: 9, kept })], NOW)
      const asked = [3, 4, 7, 11, 12].map((position) => laned(position))
      expect(await webhooks.replay(id, asked, NOW + 5)).toBe(4)
      expect(await webhooks.replay(id, asked, NOW + 6)).toBe(0)
      const due = { ...refused, nextAt: NOW + 5 }
      expect((await dueOf(store, id, NOW + 5)).sort((one, two) => one.position - two.position)).toEqual([
        due,
        ...[4, 7, 12].map((each) => untried(each, { nextAt: NOW + 5 })),
      ])
      expect(await webhooks.failing(id, ALL)).toMatchObject([due, other])
      expect(await webhooks.find(id)).toMatchObject({ version: 3, position: 9, waiting: 5, failing: 2, setAside: 0 })
      expect(await webhooks.replay('none', asked, NOW)).toBeUndefined()
    })

    promise('go before what waits in their lane, which is due once they are settled', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const kept = [waiting(5, { lane: 1 }), untried(6, { lane: 1 }), waiting(7, { lane: 2 })]
      await webhooks.save(holder, [save(id, { position: 9, kept })], NOW)
      expect(await webhooks.replay(id, [laned(2, 1), laned(9, 2)], NOW + 1)).toBe(2)
      expect((await dueOf(store, id, NOW + 1)).map(({ position }) => position)).toEqual([2, 5, 6])
      expect(await webhooks.due(id, NOW + 1, ALL)).toMatchObject({ nextAt: NOW + 1000 })
      await webhooks.save(holder, [save(id, { position: 9, settled: [laned(2, 1)] })], NOW + 2)
      expect(await dueOf(store, id, NOW + 2)).toEqual([{ ...kept[0], nextAt: NOW + 2 }, kept[1]])
    })

    promise('send again everything that is set aside, in the order of the feed', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const { id: other, holder: others } = await held(store)
      const aside = (position: number) => waiting(position, { lane: position % 700, nextAt: null, setAsideAt: NOW })
      const kept = [...Array.from({ length: 2100 }, (_, n) => aside(n + 1)), waiting(3000, { lane: 3 })]
      await webhooks.save(holder, [save(id, { position: 9, kept })], NOW)
      await webhooks.save(others, [save(other, { kept: [aside(3)] })], NOW)
      expect(await webhooks.replay(id, 'set-aside', NOW + 5)).toBe(2100)
      expect(await webhooks.replay(id, 'set-aside', NOW + 6)).toBe(0)
      expect(await webhooks.find(id)).toMatchObject({ waiting: 2101, failing: 1, setAside: 0 })
      const due = await dueOf(store, id, NOW + 5)
      expect(due.filter(({ lane }) => lane === 3).map(({ position, nextAt }) => [position, nextAt])).toEqual([
        [3, NOW + 5],
        [703, null],
        [1403, null],
        [3000, null],
      ])
      expect(new Set(due.map(({ lane }) => lane)).size).toBe(700)
      expect(await webhooks.find(other)).toMatchObject({ version: 1, waiting: 0, setAside: 1 })
      expect(await webhooks.replay('none', 'set-aside', NOW)).toBeUndefined()
    })

    promise('of a stretch add what they find, a little at a time, until they end', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      await webhooks.save(holder, [save(id, { position: 100, kept: [waiting(20, { lane: 1 })] })], NOW)
      const wanted = { from: 10, until: 50, statuses: [0, 3], beganAt: NOW }
      const begun = { ...wanted, position: 10, added: 0 }
      expect(await webhooks.setReplay(id, wanted)).toMatchObject({ replay: begun, version: 2 })
      expect(await webhooks.setReplay(id, { ...wanted, until: 90, beganAt: NOW + 1 })).toMatchObject({ replay: begun })
      const add = (position: number, ...positions: number[]) =>
        webhooks.addReplayed(
          holder,
          id,
          NOW,
          { deliveries: positions.map((each) => laned(each, each === 20 ? 1 : -each)), position },
          NOW + 5,
        )
      expect(await add(30, 15, 20, 25)).toBe(2)
      expect(await add(30, 15, 20, 25)).toBe(2)
      expect(await webhooks.find(id)).toMatchObject({
        replay: { ...begun, position: 30, added: 2 },
        waiting: 3,
        failing: 1,
      })
      expect(
        await webhooks.addReplayed(holder, id, NOW + 1, { deliveries: [laned(31)], position: 31 }, NOW),
      ).toBeUndefined()
      // What was tried is no longer ahead of the endpoint.
      await webhooks.save(holder, [save(id, { position: 100, settled: [laned(15)], kept: [waiting(25)] })], NOW + 6)
      expect(await add(40)).toBe(0)
      expect(await add(50, 45)).toBe(1)
      expect(await webhooks.find(id)).toMatchObject({ replay: null, waiting: 3 })
      expect(await add(50, 46)).toBeUndefined()
      expect((await dueOf(store, id, NOW + 5)).map(({ position }) => position)).toEqual([45])
    })

    promise('of a stretch can be ended, and what they added stays', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      await webhooks.save(holder, [save(id, { position: 100 })], NOW)
      const wanted = { from: 0, until: 50, statuses: null, beganAt: NOW }
      expect((await webhooks.setReplay(id, wanted))?.replay?.statuses).toBeNull()
      expect(await webhooks.addReplayed(holder, id, NOW, { deliveries: [laned(4)], position: 9 }, NOW)).toBe(1)
      expect(await webhooks.setReplay(id, null)).toMatchObject({ replay: null, version: 3, waiting: 1 })
      expect(await webhooks.addReplayed(holder, id, NOW, { deliveries: [laned(5)], position: 9 }, NOW)).toBeUndefined()
      expect(await webhooks.setReplay(id, null)).toMatchObject({ replay: null })
      expect(await webhooks.setReplay('none', wanted)).toBeUndefined()
    })
  })
}
