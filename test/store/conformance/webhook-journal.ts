import { describe, expect } from 'vitest'
import { confirmation, DAY, NOW, save, untried, waiting } from '../../support/webhooks/webhook-rows.ts'
import type { Open } from './promises.ts'
import { held, webhookPromises } from './webhook-promises.ts'

const BLOCK = 4096

export function describeWebhookJournal(name: string, open: Open): void {
  describe(`${name}: what webhooks have confirmed`, () => {
    const { promise } = webhookPromises(open)

    promise('after the position is loaded with it, wherever it lies', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const { id: other } = await held(store)
      const start = 2 ** 33 * BLOCK - 3
      const after = [start + 1, start + 2, start + 3, start + 4, start + 5000]
      for (const some of [after.slice(3), [start - 5000, start, ...after.slice(0, 3)], after.slice(1, 2)])
        await webhooks.save(
          holder,
          [save(id, { position: start, confirmed: some.map((each) => confirmation(each)) })],
          NOW,
        )
      expect((await webhooks.load(id))?.confirmed).toEqual(after)
      await webhooks.save(holder, [save(id, { position: start + 3 })], NOW)
      expect((await webhooks.load(id))?.confirmed).toEqual(after.slice(3))
      expect((await webhooks.load(other))?.confirmed).toEqual([])
    })

    promise('is told for each delivery, with when and how; what waits or was never read as well', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const { id: other } = await held(store)
      const aside = waiting(7, { nextAt: null, setAsideAt: NOW })
      const confirmed = [
        confirmation(3, { status: 204, milliseconds: 1.6 }),
        confirmation(5000, { milliseconds: 100_000 }),
        confirmation(9001),
        confirmation(8),
      ]
      await webhooks.save(holder, [save(id, { position: 9000, confirmed, kept: [aside] })], NOW)
      // Sent again, and confirmed again within the same millisecond.
      await webhooks.save(
        holder,
        [save(id, { position: 9000, confirmed: [confirmation(3, { milliseconds: 5 })] })],
        NOW,
      )
      await webhooks.replay(id, [{ position: 8, lane: -8 }], NOW)
      expect(await webhooks.fates(id, [3, 4, 7, 8, 5000, 9001, 9002, 9002])).toEqual(
        new Map<number, unknown>([
          [3, { state: 'confirmed', at: NOW, status: 200, milliseconds: 5 }],
          [7, { state: 'kept', delivery: aside }],
          [8, { state: 'kept', delivery: untried(8, { nextAt: NOW }) }],
          [5000, { state: 'confirmed', at: NOW, status: 200, milliseconds: 65_535 }],
          [9001, { state: 'confirmed', at: NOW, status: 200, milliseconds: 12 }],
          [9002, { state: 'unread' }],
        ]),
      )
      expect(await webhooks.fates(id, [])).toEqual(new Map())
      expect((await webhooks.fates(other, [3])).get(3)).toEqual({ state: 'unread' })
    })

    promise('is forgotten after seven days, but for what lies after the position', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const far = 10 * BLOCK
      const old = [1, 2, far + 1].map((each) => confirmation(each))
      await webhooks.save(holder, [save(id, { position: far, confirmed: old })], NOW)
      const states = async () => [...(await webhooks.fates(id, [1, 2, far + 1])).keys()]
      await webhooks.tidy(NOW + 7 * DAY)
      expect(await states()).toEqual([far + 1, 1, 2])
      // The endpoint has got nothing since.
      await webhooks.tidy(NOW + 7 * DAY + 1)
      expect(await states()).toEqual([far + 1])
      expect((await webhooks.load(id))?.confirmed.filter((each) => each === far + 1)).toEqual([far + 1])
    })
  })
}
