import { describe, expect } from 'vitest'
import { delivery } from '../../support/store/store-rows.ts'
import { ALL, attempt, DAY, NOW, save } from '../../support/webhooks/webhook-rows.ts'
import { deliverAll, type Open } from './promises.ts'
import { held, webhookPromises } from './webhook-promises.ts'

export function describeWebhookAttempts(name: string, open: Open): void {
  describe(`${name}: attempts of webhooks`, () => {
    const { promise, withCustomers } = webhookPromises(open)

    promise('are the newest 500 of an endpoint, of one day', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const { id: other, holder: others } = await held(store)
      await webhooks.save(others, [save(other, { attempts: [attempt(), attempt({ at: NOW + 5 })] })], NOW)
      const at = (from: number, count: number) =>
        Array.from({ length: count }, (_, n) => attempt({ at: NOW + from + n, error: null, status: 200, nextAt: null }))
      const times = async () => (await webhooks.attempts(id, ALL)).map((each) => each.at - NOW)
      const expected = (newest: number, count: number) => Array.from({ length: count }, (_, n) => newest - n)
      await webhooks.save(holder, [save(id, { attempts: at(0, 499) })], NOW)
      await webhooks.save(holder, [save(id, { attempts: at(499, 3) })], NOW)
      expect(await times()).toEqual(expected(501, 500))
      await webhooks.recordAttempt(id, attempt({ at: NOW + 502 }))
      expect(await times()).toEqual(expected(502, 500))
      await webhooks.save(holder, [save(id, { attempts: at(503, 600) })], NOW)
      expect(await times()).toEqual(expected(1102, 500))
      expect((await webhooks.attempts(id, 2)).map((each) => each.at - NOW)).toEqual([1102, 1101])
      await webhooks.tidy(NOW + 1100 + DAY)
      expect(await times()).toEqual([1102, 1101, 1100])
      expect(await webhooks.attempts(other, ALL)).toEqual([])
    })

    promise('are counted by the minute, for a day', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const { id: other } = await held(store)
      const minute = (start: number, succeeded: number, failed: number, longestMilliseconds: number) => ({
        minute: start * 60_000,
        succeeded,
        failed,
        longestMilliseconds,
      })
      await webhooks.save(holder, [save(id, { minutes: [minute(7, 2, 1, 50), minute(6, 1, 0, 9)] })], 0)
      await webhooks.save(
        holder,
        [save(id, { minutes: [minute(7, 3, 0, 40), minute(8, 0, 1, 7), minute(8, 1, 1, 9)] })],
        0,
      )
      expect(await webhooks.minutes(id, 0)).toEqual([minute(6, 1, 0, 9), minute(7, 5, 1, 50), minute(8, 1, 2, 9)])
      expect(await webhooks.minutes(id, 7 * 60_000)).toEqual([minute(7, 5, 1, 50), minute(8, 1, 2, 9)])
      expect(await webhooks.minutes(other, 0)).toEqual([])
      await webhooks.tidy(7 * 60_000 + DAY)
      expect(await webhooks.minutes(id, 0)).toEqual([minute(7, 5, 1, 50), minute(8, 1, 2, 9)])
      await webhooks.tidy(7 * 60_000 + DAY + 1)
      expect(await webhooks.minutes(id, 0)).toEqual([minute(8, 1, 2, 9)])
    })

    withCustomers('none is left once their customer is erased, and no answer later', async (store, one, two) => {
      const { webhooks } = store
      const [theirs, others] = [delivery(one.id, { orderId: 'PO-1' }), delivery(two.id, { orderId: 'PO-2' })]
      await deliverAll(store, [theirs, others])
      const positionOf = async (receiptId: string) => (await store.deliveries.findByReceipt(receiptId))?.position ?? 0
      const positions = [await positionOf(theirs.receiptId), await positionOf(others.receiptId)]
      const { id, holder } = await held(store)
      const at = (n: number) => attempt({ position: positions[n] ?? Number(positions[1]) + 1, receiptId: `r-${n}` })
      const all = [at(0), at(1), at(2), attempt()]
      await webhooks.save(holder, [save(id, { attempts: all })], NOW)
      for (const each of all) await webhooks.recordAttempt(id, each)
      const answers = async () =>
        (await webhooks.attempts(id, ALL)).map((each) => [each.receiptId, each.orderId, each.response])
      const kept = [
        [null, null, 'Oops.'],
        ['r-2', null, null],
        ['r-1', 'PO-2', 'Oops.'],
      ]
      const theirOwn = ['r-0', 'PO-1', 'Oops.']
      expect(await answers()).toEqual([...kept, theirOwn, ...kept, theirOwn])
      await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: false })
      expect(await answers()).toHaveLength(8)
      await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: true })
      expect(await answers()).toEqual([...kept, ...kept])
      await webhooks.save(holder, [save(id, { attempts: [at(0)] })], NOW)
      await webhooks.recordAttempt(id, at(0))
      expect((await answers()).slice(0, 2)).toEqual([
        ['r-0', null, null],
        ['r-0', null, null],
      ])
      while (await store.purges.eraseNames(one.id));
      expect(await answers()).toEqual([...kept, ...kept])
      await store.purges.wipePages(0, 1)
      expect(await answers()).toEqual([...kept, ...kept])
    })
  })
}
