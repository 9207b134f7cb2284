import { describe, expect } from 'vitest'
import { webhook } from '../../support/store-rows.ts'
import { ALL, attempt, DAY, holderName, LONG, NOW, save, waiting } from '../../support/webhook-rows.ts'
import type { Open } from './promises.ts'
import { held, webhookPromises } from './webhook-promises.ts'

export function describeWebhookProgress(name: string, open: Open): void {
  describe(`${name}: progress of webhooks`, () => {
    const { promise } = webhookPromises(open)

    promise('is loaded as it was saved', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const start = 2 ** 45
      const progress = {
        place: { position: start, generation: 3 },
        confirmed: [start + 1, start + 7, start + 4096],
        waiting: [
          waiting(start - 9, { failures: 0, firstFailedAt: null, nextAt: null, lastError: null }),
          waiting(start),
        ],
        lastSuccessAt: NOW,
        failingSince: NOW - 5,
        nextTryAt: NOW + 1000,
      }
      expect(await webhooks.save(holder, [save(id, progress)], NOW)).toEqual([id])
      const { place, confirmed, waiting: waits, ...times } = progress
      expect(await webhooks.load(id)).toEqual({
        webhook: expect.objectContaining({ place, ...times, waiting: 2, setAside: 0, version: 1, epoch: 1 }),
        confirmed,
        waiting: waits.map((each) => ({ ...each, delivery: null })),
      })
      await webhooks.save(holder, [save(id, { place, settled: [start, 5] })], NOW)
      expect(await webhooks.load(id)).toMatchObject({
        webhook: { lastSuccessAt: null, failingSince: null, nextTryAt: null, waiting: 1 },
        confirmed: [],
        waiting: [{ position: start - 9 }],
      })
    })

    promise('is stored only for endpoints that the holder has, with the epoch it works with', async (store) => {
      const { webhooks } = store
      const [{ id, holder }, { id: others }] = [await held(store), await held(store)]
      const mine = webhook()
      await webhooks.add(mine)
      await webhooks.claim(holder, LONG, ALL)
      const place = { position: 5, generation: 0 }
      const more = {
        place,
        waiting: [waiting(2)],
        attempts: [attempt()],
        minutes: [{ minute: NOW, succeeded: 1, failed: 0, longestMilliseconds: 1 }],
        gone: true,
      }
      const saves = [save(id, { ...more, epoch: 2 }), save(others, more), save('none', more), save(mine.id, more)]
      expect(await webhooks.save(holder, saves, NOW)).toEqual([mine.id])
      for (const refused of [id, others]) {
        expect(await webhooks.load(refused)).toMatchObject({
          webhook: { place: { position: 0 }, paused: null },
          waiting: [],
        })
        expect(await webhooks.attempts(refused, ALL)).toEqual([])
        expect(await webhooks.minutes(refused, 0)).toEqual([])
      }
      expect(await webhooks.load(mine.id)).toMatchObject({ webhook: { place }, waiting: [{ position: 2 }] })
      expect(await webhooks.attempts(mine.id, ALL)).toHaveLength(1)
    })

    promise('is stored whole or not at all', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const one = { place: { position: 5, generation: 0 }, waiting: [waiting(2)], attempts: [attempt()] }
      const minutes = [{ minute: NOW, succeeded: 0.5, failed: 0, longestMilliseconds: 1 }]
      await expect(webhooks.save(holder, [save(id, { ...one, minutes })], NOW)).rejects.toThrow()
      expect(await webhooks.load(id)).toMatchObject({ webhook: { place: { position: 0 } }, waiting: [] })
      expect(await webhooks.attempts(id, ALL)).toEqual([])
      expect(await webhooks.save(holder, [save(id, one)], NOW)).toEqual([id])
    })

    promise('of a hundred endpoints is stored in one call', async ({ webhooks }) => {
      const all = Array.from({ length: 100 }, () => webhook())
      for (const each of all) await webhooks.add(each)
      const holder = holderName()
      expect(await webhooks.claim(holder, LONG, ALL)).toHaveLength(100)
      const saves = all.map(({ id }, n) =>
        save(id, {
          place: { position: 1000 + n, generation: 0 },
          confirmed: [1001 + n],
          waiting: [waiting(n), waiting(n + 1)],
          settled: [n],
          attempts: [attempt({ error: `error ${n}` })],
          minutes: [{ minute: 60_000, succeeded: n, failed: 1, longestMilliseconds: n }],
        }),
      )
      expect((await webhooks.save(holder, saves, 60_000)).sort()).toEqual(all.map(({ id }) => id))
      for (const [n, { id }] of all.entries()) {
        expect(await webhooks.load(id)).toMatchObject({
          webhook: { place: { position: 1000 + n } },
          confirmed: [1001 + n],
          waiting: [{ position: n + 1 }],
        })
        expect(await webhooks.attempts(id, ALL)).toMatchObject([{ error: `error ${n}` }])
        expect(await webhooks.minutes(id, 0)).toMatchObject([{ succeeded: n, failed: 1 }])
      }
    })

    promise('has the newest 500 attempts of an endpoint, of one day', async (store) => {
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
      await webhooks.save(holder, [save(id)], NOW + 1100 + DAY)
      expect(await times()).toEqual([1102, 1101, 1100])
      expect(await webhooks.attempts(other, ALL)).toEqual([])
    })

    promise('counts attempts by the minute, for a day', async (store) => {
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
      await webhooks.save(holder, [save(id)], 7 * 60_000 + DAY)
      expect(await webhooks.minutes(id, 0)).toEqual([minute(7, 5, 1, 50), minute(8, 1, 2, 9)])
      await webhooks.save(holder, [save(id)], 7 * 60_000 + DAY + 1)
      expect(await webhooks.minutes(id, 0)).toEqual([minute(8, 1, 2, 9)])
    })

    promise('pauses an endpoint that is gone, and no other one', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const { id: other } = await held(store)
      expect(await webhooks.save(holder, [save(id, { gone: true })], NOW)).toEqual([id])
      const paused = { reason: 'gone', at: NOW }
      expect((await webhooks.find(id))?.paused).toEqual(paused)
      expect(await webhooks.save(holder, [save(id, { gone: true })], NOW + 9)).toEqual([id])
      expect((await webhooks.find(id))?.paused).toEqual(paused)
      expect(await webhooks.renew(holder, LONG)).toMatchObject([{ id, paused: true }])
      expect((await webhooks.find(other))?.paused).toBeNull()
    })

    promise('takes any text, and times with fractions', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const text = `'"\\ ü \u{1f600} \ud800 \0 $1`
      const stored = `'"\\ ü \u{1f600} \ufffd \ufffd $1`
      const attempts = [attempt({ error: text, response: text, milliseconds: 1.4, nextAt: NOW + 0.6 })]
      const waits = [waiting(3, { lastError: text, nextAt: NOW + 0.4 })]
      await webhooks.save(holder, [save(id, { attempts, waiting: waits, nextTryAt: NOW + 0.4 })], NOW)
      await webhooks.recordAttempt(id, attempt({ error: text, response: text }))
      expect(await webhooks.attempts(id, ALL)).toMatchObject([
        { error: stored, response: stored },
        { error: stored, response: stored, milliseconds: 1, nextAt: NOW + 1 },
      ])
      expect(await webhooks.load(id)).toMatchObject({
        webhook: { nextTryAt: NOW },
        waiting: [{ lastError: stored, nextAt: NOW }],
      })
    })
  })
}
