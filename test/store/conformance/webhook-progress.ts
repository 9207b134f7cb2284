import { describe, expect } from 'vitest'
import { webhook } from '../../support/store/store-rows.ts'
import {
  ALL,
  attempt,
  confirmation,
  holderName,
  LONG,
  NOW,
  save,
  untried,
  waiting,
} from '../../support/webhooks/webhook-rows.ts'
import type { Open } from './promises.ts'
import { held, webhookPromises } from './webhook-promises.ts'

export function describeWebhookProgress(name: string, open: Open): void {
  describe(`${name}: progress of webhooks`, () => {
    const { promise } = webhookPromises(open)

    promise('is loaded as it was saved', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const position = 2 ** 45
      const confirmed = [position + 1, position + 7, position + 4096]
      const progress = {
        position,
        confirmed: confirmed.map((each) => confirmation(each)),
        kept: [untried(position - 9), waiting(position)],
        lastSuccessAt: NOW,
        silentUntil: NOW + 500,
      }
      expect(await webhooks.save(holder, [save(id, progress)], NOW)).toEqual([id])
      const kept = { position, lastSuccessAt: NOW, failingSince: NOW, waiting: 2, failing: 1, setAside: 0, version: 1 }
      expect(await webhooks.load(id)).toEqual({
        webhook: expect.objectContaining({ ...kept, nextTryAt: NOW + 500 }),
        confirmed,
      })
      const settled = [position, 5].map((each) => ({ position: each, lane: -each }))
      await webhooks.save(holder, [save(id, { position: position + 2, settled })], NOW + 9)
      expect(await webhooks.load(id)).toMatchObject({
        webhook: { lastSuccessAt: NOW, failingSince: null, nextTryAt: NOW, waiting: 1, failing: 0 },
        confirmed: confirmed.slice(1),
      })
    })

    promise('is stored only for endpoints that are there', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const more = {
        position: 5,
        kept: [waiting(2)],
        confirmed: [confirmation(1)],
        attempts: [attempt()],
        minutes: [{ minute: NOW, succeeded: 1, failed: 0, longestMilliseconds: 1 }],
        gone: 1,
        hurry: true,
      }
      expect(await webhooks.save(holder, [], NOW)).toEqual([])
      expect(await webhooks.save(holder, [save('none', more), save(id, more)], NOW)).toEqual([id])
      await webhooks.add(webhook({ id: 'none' }))
      expect(await webhooks.load('none')).toMatchObject({
        webhook: { position: 0, paused: null, waiting: 0 },
        confirmed: [],
      })
      expect(await webhooks.attempts('none', ALL)).toEqual([])
      expect(await webhooks.minutes('none', 0)).toEqual([])
      expect(await webhooks.load(id)).toMatchObject({ webhook: { position: 5, waiting: 1 } })
      expect(await webhooks.attempts(id, ALL)).toHaveLength(1)
    })

    promise('is stored whole or not at all', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const one = { position: 5, kept: [waiting(2)], confirmed: [confirmation(3)], attempts: [attempt()] }
      const minutes = [{ minute: NOW, succeeded: 0.5, failed: 0, longestMilliseconds: 1 }]
      await expect(webhooks.save(holder, [save(id, { ...one, minutes })], NOW)).rejects.toThrow()
      expect(await webhooks.load(id)).toMatchObject({ webhook: { position: 0, waiting: 0 }, confirmed: [] })
      expect(await webhooks.attempts(id, ALL)).toEqual([])
      expect(await webhooks.save(holder, [save(id, one)], NOW)).toEqual([id])
    })

    promise('is not stored again once an operator has changed the endpoint', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const { id: other, holder: others } = await held(store)
      expect(await webhooks.save(holder, [save(id, { position: 5, ifVersion: 1 })], NOW)).toEqual([id])
      await webhooks.replay(id, [{ position: 3, lane: -3 }], NOW)
      const settled = [{ position: 3, lane: -3 }]
      expect(await webhooks.save(holder, [save(id, { position: 6, settled, ifVersion: 1 })], NOW)).toEqual([])
      expect(await webhooks.load(id)).toMatchObject({ webhook: { position: 5, waiting: 1, version: 2 } })
      expect(await webhooks.save(others, [save(other, { ifVersion: 1 })], NOW)).toEqual([other])
      expect(await webhooks.save(holder, [save(id, { position: 6, settled, ifVersion: 2 })], NOW)).toEqual([id])
      expect(await webhooks.load(id)).toMatchObject({ webhook: { position: 6, waiting: 0 } })
    })

    promise('of a hundred endpoints is stored in one call', async ({ webhooks }) => {
      const all = Array.from({ length: 100 }, () => webhook())
      for (const each of all) await webhooks.add(each)
      const holder = holderName()
      expect(await webhooks.hold(holder, LONG, ALL)).toHaveLength(100)
      const saves = all.map(({ id }, n) =>
        save(id, {
          position: 1000 + n,
          confirmed: [confirmation(1001 + n)],
          kept: [waiting(n), waiting(n + 1)],
          settled: [{ position: n, lane: -n }],
          attempts: [attempt({ error: `error ${n}` })],
          minutes: [{ minute: 60_000, succeeded: n, failed: 1, longestMilliseconds: n }],
        }),
      )
      expect((await webhooks.save(holder, saves, 60_000)).sort()).toEqual(all.map(({ id }) => id))
      for (const [n, { id }] of all.entries()) {
        expect(await webhooks.load(id)).toMatchObject({
          webhook: { position: 1000 + n, waiting: 1, failing: 1 },
          confirmed: [1001 + n],
        })
        expect(await webhooks.failing(id, ALL)).toMatchObject([{ position: n + 1 }])
        expect(await webhooks.attempts(id, ALL)).toMatchObject([{ error: `error ${n}` }])
        expect(await webhooks.minutes(id, 0)).toMatchObject([{ succeeded: n, failed: 1 }])
      }
    })

    promise('pauses an endpoint that is gone, and no other one', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const { id: other } = await held(store)
      expect(await webhooks.save(holder, [save(id, { gone: 1 })], NOW)).toEqual([id])
      const paused = { reason: 'gone', at: NOW }
      expect((await webhooks.find(id))?.paused).toEqual(paused)
      expect(await webhooks.save(holder, [save(id, { gone: 1 })], NOW + 9)).toEqual([id])
      expect((await webhooks.find(id))?.paused).toEqual(paused)
      expect((await webhooks.find(other))?.paused).toBeNull()
    })

    promise(
      'pauses no endpoint that an operator has changed since it was loaded, and stores the rest',
      async (store) => {
        const { webhooks } = store
        const { id, holder } = await held(store)
        await webhooks.change(id, { url: 'https://other.example/' })
        expect(await webhooks.save(holder, [save(id, { kept: [waiting(2)], gone: 1 })], NOW)).toEqual([id])
        expect(await webhooks.load(id)).toMatchObject({ webhook: { paused: null, waiting: 1 } })
        expect(await webhooks.save(holder, [save(id, { gone: 2 })], NOW)).toEqual([id])
        expect((await webhooks.find(id))?.paused).toEqual({ reason: 'gone', at: NOW })
      },
    )

    promise('takes any text, and times with fractions', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const text = `'"\\ ü \u{1f600} \ud800 \0 $1`
      const stored = `'"\\ ü \u{1f600} \ufffd \ufffd $1`
      const attempts = [attempt({ error: text, response: text, milliseconds: 1.4, nextAt: NOW + 0.6 })]
      const kept = [waiting(3, { lastError: text, nextAt: NOW + 0.4 })]
      await webhooks.save(holder, [save(id, { attempts, kept, silentUntil: NOW + 0.4 })], NOW)
      await webhooks.recordAttempt(id, attempt({ error: text, response: text }))
      expect(await webhooks.attempts(id, ALL)).toMatchObject([
        { error: stored, response: stored },
        { error: stored, response: stored, milliseconds: 1, nextAt: NOW + 1 },
      ])
      expect(await webhooks.find(id)).toMatchObject({ nextTryAt: NOW })
      expect(await webhooks.failing(id, ALL)).toMatchObject([{ lastError: stored, nextAt: NOW }])
    })
  })
}
