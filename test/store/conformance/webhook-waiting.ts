import { describe, expect } from 'vitest'
import type { Laned, Store } from '#src/store/store.ts'
import { delivery, webhook } from '../../support/store/store-rows.ts'
import { ALL, NOW, save, untried, waiting } from '../../support/webhooks/webhook-rows.ts'
import { deliverAll, type Open } from './promises.ts'
import { held, webhookPromises } from './webhook-promises.ts'

/** No delivery of these tests has a position from here on. */
const FAR = 2 ** 40

export function describeWebhookWaiting(name: string, open: Open): void {
  describe(`${name}: deliveries that wait for a webhook`, () => {
    const { promise, withCustomers } = webhookPromises(open)

    const dueAt = async ({ webhooks }: Store, id: string, now: number, lanes = ALL) => {
      const { deliveries, nextAt } = await webhooks.due(id, now, lanes)
      return { due: deliveries.map(({ position }) => position - FAR), nextAt }
    }

    withCustomers('come back as they were kept, with what was delivered, unless it was purged', async (store, one) => {
      const { webhooks } = store
      const sent = delivery(one.id)
      await deliverAll(store, [sent])
      const position = (await store.deliveries.findByReceipt(sent.receiptId))?.position ?? 0
      const { id, holder } = await held(store)
      const kept = [waiting(position, { lane: 2 ** 48 - 1, lastError: 'ü', answered: false }), waiting(FAR)]
      expect(await webhooks.save(holder, [save(id, { kept })], NOW)).toEqual([id])
      expect(await webhooks.due(id, NOW + 1000, ALL)).toEqual({
        deliveries: [
          { ...kept[0], receiptId: sent.receiptId, receivedAt: sent.receivedAt },
          { ...kept[1], receiptId: null, receivedAt: null },
        ],
        nextAt: null,
      })
    })

    promise('are due lane by lane, the one due longest first, each with some that wait behind it', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const { id: other, holder: others } = await held(store)
      const kept = [
        waiting(FAR + 1, { lane: 1, nextAt: NOW + 30 }),
        untried(FAR + 9, { lane: 1 }),
        waiting(FAR + 2, { lane: 2, nextAt: NOW + 10 }),
        waiting(FAR + 3, { lane: 3, nextAt: NOW + 20 }),
        untried(FAR + 8, { lane: 3 }),
        waiting(FAR + 7, { lane: 3, nextAt: null, setAsideAt: NOW }),
        waiting(FAR + 4, { lane: 4, nextAt: NOW + 40 }),
      ]
      await webhooks.save(holder, [save(id, { kept })], NOW)
      await webhooks.save(others, [save(other, { kept: [waiting(FAR + 5, { nextAt: NOW })] })], NOW)
      expect(await dueAt(store, id, NOW + 9)).toEqual({ due: [], nextAt: NOW + 10 })
      expect(await dueAt(store, id, NOW + 30)).toEqual({ due: [2, 3, 8, 1, 9], nextAt: NOW + 40 })
      expect(await dueAt(store, id, NOW + 30, 2)).toEqual({ due: [2, 3, 8], nextAt: NOW + 30 })
      expect(await dueAt(store, id, NOW + 40)).toEqual({ due: [2, 3, 8, 1, 9, 4], nextAt: null })
    })

    promise('are due if their time lies further ahead than any pause: the clock was set back', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const kept = [0, 1, 2].map((n) => waiting(FAR + n, { nextAt: NOW + n * 3_600_000 }))
      await webhooks.save(holder, [save(id, { kept })], NOW)
      expect(await dueAt(store, id, NOW - 1)).toEqual({ due: [1, 2], nextAt: NOW })
      expect(await dueAt(store, id, NOW)).toEqual({ due: [0, 2], nextAt: NOW + 3_600_000 })
      expect(await dueAt(store, id, NOW - 10 * 365 * 86_400_000)).toEqual({ due: [0, 1, 2], nextAt: null })
    })

    promise('of a long lane come some at a time, in order', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const kept = Array.from({ length: 100 }, (_, n) => untried(FAR + n, { lane: 7 }))
      await webhooks.save(holder, [save(id, { kept: kept.toReversed() })], NOW)
      for (let from = 0; from < 100; ) {
        const { due, nextAt } = await dueAt(store, id, NOW)
        expect(due).toEqual(Array.from(due, (_, n) => from + n))
        expect([due.length > 1, nextAt]).toEqual([from < 99, null])
        const settled = due.map((n) => ({ position: FAR + n, lane: 7 }))
        await webhooks.save(holder, [save(id, { settled })], NOW)
        from += due.length
      }
      expect(await webhooks.find(id)).toMatchObject({ waiting: 0 })
    })

    promise('hold what comes after them in their lane, and themselves', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const { id: other } = await held(store)
      const kept = [waiting(FAR + 1, { lane: 1 }), waiting(FAR + 2, { lane: 2, nextAt: null, setAsideAt: NOW })]
      await webhooks.save(holder, [save(id, { kept })], NOW)
      const asked: Laned[] = [
        { position: FAR + 1, lane: 1 },
        { position: FAR + 2, lane: 2 },
        { position: FAR + 3, lane: 1 },
        { position: FAR + 4, lane: 2 },
        { position: FAR + 5, lane: 3 },
      ]
      const positions = async (of: string) => (await webhooks.held(of, asked)).map((position) => position - FAR)
      expect(await positions(id)).toEqual([1, 2, 3])
      expect(await positions(other)).toEqual([])
      expect(await webhooks.held(id, [])).toEqual([])
    })

    promise('the next of a lane is due at once when the first one is settled or set aside', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const kept = [1, 2].flatMap((lane) => [
        waiting(FAR + lane, { lane }),
        untried(FAR + lane + 10, { lane }),
        untried(FAR + lane + 20, { lane }),
      ])
      await webhooks.save(holder, [save(id, { kept })], NOW)
      expect(await dueAt(store, id, NOW)).toEqual({ due: [], nextAt: NOW + 1000 })
      const aside = waiting(FAR + 2, { lane: 2, nextAt: null, setAsideAt: NOW })
      await webhooks.save(holder, [save(id, { settled: [{ position: FAR + 1, lane: 1 }], kept: [aside] })], NOW + 5)
      const { due, nextAt } = await dueAt(store, id, NOW + 5)
      expect([due.toSorted((one, other) => one - other), nextAt]).toEqual([[11, 12, 21, 22], null])
      expect(await webhooks.find(id)).toMatchObject({ waiting: 4, failing: 0, setAside: 1, nextTryAt: NOW + 5 })
    })

    promise('that were never tried replace nothing that is known, and the last word on one counts', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const again = waiting(FAR + 3, { failures: 2, nextAt: NOW + 2000, lastError: 'status 503' })
      await webhooks.save(holder, [save(id, { kept: [waiting(FAR + 3), again] })], NOW)
      await webhooks.save(holder, [save(id, { kept: [untried(FAR + 3, { nextAt: NOW })] })], NOW)
      expect(await webhooks.failing(id, ALL)).toEqual([{ ...again, receiptId: null, orderId: null }])
      expect(await webhooks.find(id)).toMatchObject({ waiting: 1, failing: 1 })
    })

    promise('that got no answer are due within a second once the endpoint answers', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const kept = [
        waiting(FAR + 1, { nextAt: NOW + 300_000, answered: false }),
        waiting(FAR + 1002, { nextAt: NOW + 300_000, answered: false }),
        waiting(FAR + 3, { nextAt: NOW + 300_000 }),
        waiting(FAR + 4, { nextAt: NOW + 7, answered: false }),
        waiting(FAR + 5, { nextAt: null, answered: false, setAsideAt: NOW }),
      ]
      await webhooks.save(holder, [save(id, { kept })], NOW)
      await webhooks.save(holder, [save(id, { hurry: true })], NOW)
      const { due, nextAt } = await dueAt(store, id, NOW + 999)
      expect([due.toSorted((one, other) => one - other), nextAt]).toEqual([[1, 4, 1002], NOW + 300_000])
    })

    withCustomers('are listed once they failed: some that are set aside, and as many others', async (store, one) => {
      const { webhooks } = store
      const sent = delivery(one.id, { orderId: 'PO-1' })
      await deliverAll(store, [sent])
      const position = (await store.deliveries.findByReceipt(sent.receiptId))?.position ?? 0
      const { id, holder } = await held(store)
      const { id: other } = await held(store)
      const kept = [
        waiting(position + 1, { nextAt: null, setAsideAt: NOW }),
        waiting(position, { failures: 3, nextAt: NOW + 20 }),
        untried(position + 2),
        waiting(position + 3, { nextAt: NOW + 10, answered: false }),
        waiting(position + 5, { nextAt: NOW + 30, answered: false }),
        waiting(position + 4, { nextAt: null, setAsideAt: NOW }),
      ]
      await webhooks.save(holder, [save(id, { kept })], NOW)
      const order = async (limit: number) => (await webhooks.failing(id, limit)).map((each) => each.position - position)
      expect(await order(ALL)).toEqual([1, 4, 3, 0, 5])
      for (const limit of [0, 1, 2, 3])
        expect(await order(limit)).toEqual([...[1, 4].slice(0, limit), ...[3, 0, 5].slice(0, limit)])
      expect((await webhooks.failing(id, 4))[3]).toEqual({ ...kept[1], receiptId: sent.receiptId, orderId: 'PO-1' })
      expect((await webhooks.failing(id, 1))[0]).toEqual({ ...kept[0], receiptId: null, orderId: null })
      expect(await webhooks.failing(other, ALL)).toEqual([])
      await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: true })
      expect((await webhooks.failing(id, 4))[3]?.orderId).toBe(null)
    })

    promise('are counted for each endpoint, however often one save is stored', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const quiet = webhook()
      await webhooks.add(quiet)
      const kept = [untried(FAR + 1), waiting(FAR + 2), waiting(FAR + 3, { nextAt: null, setAsideAt: NOW })]
      const settled = [4, 5].map((n) => ({ position: FAR + n, lane: n }))
      await webhooks.save(holder, [save(id, { kept: [waiting(FAR + 4), waiting(FAR + 5)] })], NOW)
      for (let times = 0; times < 3; times++) await webhooks.save(holder, [save(id, { kept, settled })], NOW + times)
      const counts = async () =>
        (await webhooks.list()).map((each) => [each.id, each.waiting, each.failing, each.setAside, each.failingSince])
      expect(await counts()).toEqual([
        [id, 2, 1, 1, NOW],
        [quiet.id, 0, 0, 0, null],
      ])
      await webhooks.save(holder, [save(id, { settled: [{ position: FAR + 2, lane: -FAR - 2 }] })], NOW + 9)
      expect((await counts())[0]).toEqual([id, 1, 0, 1, null])
      await webhooks.save(holder, [save(id, { kept: [waiting(FAR + 1)] })], NOW + 10)
      expect((await counts())[0]).toEqual([id, 1, 1, 1, NOW + 10])
    })
  })
}
