import { describe, expect } from 'vitest'
import type { Store } from '#src/store/store.ts'
import { delivery, webhook } from '../../support/store-rows.ts'
import { ALL, attempt, NOW, save, waiting } from '../../support/webhook-rows.ts'
import { deliverAll, type Open } from './promises.ts'
import { held, webhookPromises } from './webhook-promises.ts'

export function describeWebhookWaiting(name: string, open: Open): void {
  describe(`${name}: deliveries that wait for a webhook`, () => {
    const { promise, withCustomers } = webhookPromises(open)

    /** No delivery of these tests has a position from here on. */
    const FAR = 2 ** 40

    const positionOf = async ({ deliveries }: Store, receiptId: string): Promise<number> =>
      (await deliveries.findByReceipt(receiptId))?.position ?? 0

    withCustomers('are loaded in order with what was delivered, unless it was purged', async (store, one, two) => {
      const { webhooks } = store
      const [first, second, echo] = [
        delivery(one.id, { orderId: 'ü' }),
        delivery(two.id, { orderId: null, status: 3 }),
        delivery(one.id, { orderId: 'ü' }),
      ]
      await deliverAll(store, [first, second, { ...echo, payload: first.payload }])
      const start = await positionOf(store, first.receiptId)
      const page = await store.deliveries.after(start - 1, {}, { limit: 3, scan: 3 })
      const [, next = 0, last = 0] = page.deliveries.map(({ position }) => position)
      const { id, holder } = await held(store)
      const never = waiting(next, { failures: 0, firstFailedAt: null, nextAt: null, lastError: null })
      const some = [waiting(last), waiting(last + 1000), never, waiting(start, { setAsideAt: NOW }), waiting(last + 1)]
      expect(await webhooks.save(holder, [save(id, { waiting: some })], NOW)).toEqual([id])
      const loaded = await webhooks.load(id)
      expect(loaded?.waiting).toEqual([
        { ...never, delivery: page.deliveries[1] },
        { ...waiting(last), delivery: page.deliveries[2] },
        { ...waiting(last + 1), delivery: null },
        { ...waiting(last + 1000), delivery: null },
      ])
      expect(loaded?.waiting[1]?.delivery).toMatchObject({
        receiptId: echo.receiptId,
        duplicate: true,
        customerId: one.id,
      })
      expect(loaded?.webhook).toMatchObject({ waiting: 4, setAside: 1 })
    })

    withCustomers('are listed once they failed, those set aside first', async (store, one) => {
      const { webhooks } = store
      const sent = delivery(one.id)
      await deliverAll(store, [sent])
      const position = await positionOf(store, sent.receiptId)
      const { id, holder } = await held(store)
      const { id: other } = await held(store)
      const some = [
        waiting(position + 1, { setAsideAt: NOW }),
        waiting(position, { failures: 3 }),
        waiting(position + 2, { failures: 0 }),
        waiting(position + 3),
        waiting(position + 4, { setAsideAt: NOW, failures: 0 }),
      ]
      await webhooks.save(holder, [save(id, { waiting: some })], NOW)
      const order = async (most: number) => (await webhooks.failing(id, most)).map((each) => each.position - position)
      expect(await order(ALL)).toEqual([1, 4, 0, 3])
      for (const most of [0, 1, 2, 3]) expect(await order(most)).toEqual([1, 4, 0].slice(0, most))
      expect((await webhooks.failing(id, 3))[2]).toEqual({ ...some[1], receiptId: sent.receiptId })
      expect((await webhooks.failing(id, 1))[0]).toEqual({ ...some[0], receiptId: null })
      expect(await webhooks.failing(other, ALL)).toEqual([])
    })

    promise('are replaced by position, and the last word on one counts', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      await webhooks.save(holder, [save(id, { waiting: [waiting(FAR + 3), waiting(FAR + 4), waiting(FAR + 5)] })], NOW)
      const again = waiting(FAR + 3, { failures: 2, nextAt: NOW + 2000, lastError: 'status 503' })
      const aside = waiting(FAR + 4, { failures: 9, nextAt: null, setAsideAt: NOW + 3 })
      await webhooks.save(holder, [save(id, { waiting: [waiting(FAR + 3), again, aside], settled: [FAR + 5] })], NOW)
      expect((await webhooks.load(id))?.waiting).toEqual([{ ...again, delivery: null }])
      expect(await webhooks.failing(id, ALL)).toEqual([aside, again].map((each) => ({ ...each, receiptId: null })))
    })

    promise('are sent again now when that is asked for, also one that was confirmed', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const place = { position: FAR + 9, generation: 0 }
      const progress = {
        place,
        waiting: [waiting(FAR + 3), waiting(FAR + 4, { setAsideAt: NOW })],
        nextTryAt: NOW + 1000,
      }
      await webhooks.save(holder, [save(id, progress)], NOW)
      const due = (position: number) => ({
        ...waiting(position, { failures: 0, firstFailedAt: null, nextAt: NOW + 5, lastError: null }),
        delivery: null,
      })
      for (const position of [7, 3, 4, 12].map((each) => FAR + each))
        expect(await webhooks.replay(id, { position }, NOW + 5)).toBe(1)
      expect(await webhooks.load(id)).toMatchObject({
        webhook: { version: 5, epoch: 1, waiting: 4, setAside: 0, nextTryAt: NOW + 5, place },
        waiting: [due(FAR + 3), due(FAR + 4), due(FAR + 7), due(FAR + 12)],
      })
      expect(await webhooks.replay('none', { position: FAR }, NOW)).toBeUndefined()
      expect(await webhooks.save(holder, [save(id, { place, settled: [FAR + 7] })], NOW)).toEqual([id])
    })

    promise('are sent again together once set aside', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const { id: other, holder: others } = await held(store)
      const aside = [3, 4].map((position) => waiting(position, { setAsideAt: NOW, nextAt: null }))
      await webhooks.save(holder, [save(id, { waiting: [...aside, waiting(5)] })], NOW)
      await webhooks.save(others, [save(other, { waiting: aside })], NOW)
      expect(await webhooks.replay(id, 'set-aside', NOW + 5)).toBe(2)
      expect(await webhooks.replay(id, 'set-aside', NOW + 6)).toBe(0)
      expect((await webhooks.load(id))?.waiting).toMatchObject([
        { position: 3, failures: 0, nextAt: NOW + 5, setAsideAt: null },
        { position: 4, failures: 0, nextAt: NOW + 5, setAsideAt: null },
        { position: 5, failures: 1, nextAt: NOW + 1000 },
      ])
      expect(await webhooks.find(other)).toMatchObject({ version: 1, waiting: 0, setAside: 2 })
      expect(await webhooks.replay('none', 'set-aside', NOW)).toBeUndefined()
    })

    withCustomers('leave no attempts once their customer is erased, and no answer later', async (store, one, two) => {
      const { webhooks } = store
      const [theirs, others] = [delivery(one.id), delivery(two.id)]
      await deliverAll(store, [theirs, others])
      const positions = [await positionOf(store, theirs.receiptId), await positionOf(store, others.receiptId)]
      const { id, holder } = await held(store)
      const at = (n: number) => attempt({ position: positions[n] ?? Number(positions[1]) + 1, receiptId: `r-${n}` })
      const all = [at(0), at(1), at(2), attempt()]
      await webhooks.save(holder, [save(id, { attempts: all })], NOW)
      for (const each of all) await webhooks.recordAttempt(id, each)
      const answers = async () => (await webhooks.attempts(id, ALL)).map((each) => [each.receiptId, each.response])
      const kept = [
        [null, 'Oops.'],
        ['r-2', null],
        ['r-1', 'Oops.'],
      ]
      const theirOwn = ['r-0', 'Oops.']
      expect(await answers()).toEqual([...kept, theirOwn, ...kept, theirOwn])
      await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: false })
      expect(await answers()).toHaveLength(8)
      await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: true })
      expect(await answers()).toEqual([...kept, ...kept])
      await webhooks.save(holder, [save(id, { attempts: [at(0)] })], NOW)
      await webhooks.recordAttempt(id, at(0))
      expect((await answers()).slice(0, 2)).toEqual([
        ['r-0', null],
        ['r-0', null],
      ])
      while (await store.purges.eraseNames(one.id));
      expect(await answers()).toEqual([...kept, ...kept])
      await store.purges.wipePages(0, 1)
      expect(await answers()).toEqual([...kept, ...kept])
    })

    withCustomers('are marked as erased when their customer was', async (store, one) => {
      const { webhooks } = store
      const sent = delivery(one.id)
      await deliverAll(store, [sent])
      const position = await positionOf(store, sent.receiptId)
      const { id, holder } = await held(store)
      await webhooks.save(holder, [save(id, { waiting: [waiting(position)] })], NOW)
      await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: true })
      expect((await webhooks.load(id))?.waiting).toMatchObject([{ delivery: { erased: true, orderId: null } }])
    })

    promise('are counted for each endpoint', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const quiet = webhook()
      await webhooks.add(quiet)
      await webhooks.save(
        holder,
        [save(id, { waiting: [waiting(1), waiting(2), waiting(3, { setAsideAt: NOW })] })],
        NOW,
      )
      expect((await webhooks.list()).map((each) => [each.id, each.waiting, each.setAside])).toEqual([
        [id, 2, 1],
        [quiet.id, 0, 0],
      ])
    })
  })
}
