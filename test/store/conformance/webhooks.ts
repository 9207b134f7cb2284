import { describe, expect } from 'vitest'
import type { Webhook } from '#src/store/store.ts'
import { webhook } from '../../support/store-rows.ts'
import { ALL, attempt, confirmation, NOW, save, untried, waiting } from '../../support/webhook-rows.ts'
import type { Open } from './promises.ts'
import { held, webhookPromises } from './webhook-promises.ts'

export function describeWebhooks(name: string, open: Open): void {
  describe(`${name}: webhooks`, () => {
    const { promise } = webhookPromises(open)

    const fresh = {
      formerSecret: null,
      paused: null,
      version: 1,
      lastSuccessAt: null,
      failingSince: null,
      nextTryAt: null,
      silentUntil: null,
      waiting: 0,
      failing: 0,
      setAside: 0,
      removedUnsent: 0,
      replay: null,
    }

    promise('are listed as they were added, the oldest first', async ({ webhooks }) => {
      const plain = webhook({ createdAt: NOW + 1 })
      const full = webhook({
        createdAt: NOW,
        customerId: 'c-1',
        statuses: [0, 3],
        duplicates: false,
        ca: '-----BEGIN CERTIFICATE-----\nü\n',
        giveUpMilliseconds: 3 * 86_400_000,
        position: 2 ** 40,
      })
      const none = webhook({ createdAt: NOW + 2, statuses: [] })
      for (const each of [plain, full, none]) await webhooks.add(each)
      expect(await webhooks.list()).toEqual([full, plain, none].map((each) => ({ ...each, ...fresh })))
      expect(await webhooks.find(full.id)).toEqual({ ...full, ...fresh })
      expect(await webhooks.find('none')).toBeUndefined()
      expect(await webhooks.load('none')).toBeUndefined()
      expect(await webhooks.load(plain.id)).toEqual({ webhook: { ...plain, ...fresh }, confirmed: [] })
    })

    promise('cannot be added twice under one id', async ({ webhooks }) => {
      const one = webhook()
      await webhooks.add(one)
      await expect(webhooks.add({ ...one, url: 'https://other.example/' })).rejects.toThrow()
      expect(await webhooks.list()).toMatchObject([{ url: one.url }])
    })

    promise('keep what a change does not name, and each change raises the version', async ({ webhooks }) => {
      const one = webhook()
      await webhooks.add(one)
      const was = { ...one, ...fresh }
      const paused = { reason: 'operator', at: NOW } as const
      expect(await webhooks.change(one.id, { paused })).toEqual({ ...was, paused, version: 2 })
      const rotated = { secret: 'new', formerSecret: { sealed: 'sealed', until: NOW + 5 } }
      expect(await webhooks.change(one.id, rotated)).toEqual({ ...was, paused, ...rotated, version: 3 })
      expect(await webhooks.change(one.id, { paused: null, formerSecret: undefined })).toEqual({
        ...was,
        ...rotated,
        version: 4,
      })
      const changed = { ...was, secret: 'new', version: 5 }
      expect(await webhooks.change(one.id, { formerSecret: null })).toEqual(changed)
      expect(await webhooks.find(one.id)).toEqual(changed)
      expect(await webhooks.change('none', { paused: null })).toBeUndefined()
    })

    promise('are removed with all that is known of them', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const minutes = [{ minute: 60_000, succeeded: 1, failed: 1, longestMilliseconds: 5 }]
      const more = {
        position: 9,
        kept: [waiting(3), waiting(4, { setAsideAt: NOW })],
        confirmed: [confirmation(11)],
        attempts: [attempt()],
        minutes,
      }
      await webhooks.save(holder, [save(id, more)], 60_000)
      await webhooks.setReplay(id, { from: 0, until: 9, statuses: null, beganAt: 1 })
      expect(await webhooks.remove(id)).toBe(true)
      expect(await webhooks.remove(id)).toBe(false)
      expect(await webhooks.save(holder, [save(id)], NOW)).toEqual([])
      await webhooks.recordAttempt(id, attempt())
      expect(await webhooks.hold(holder, 1000, ALL)).toEqual([])
      expect(await webhooks.replay(id, 'set-aside', NOW)).toBeUndefined()
      expect(await webhooks.setReplay(id, null)).toBeUndefined()
      expect(await webhooks.addReplayed(holder, id, 1, { deliveries: [], position: 1 }, NOW)).toBeUndefined()
      const again = webhook({ id })
      await webhooks.add(again)
      expect(await webhooks.load(id)).toEqual({ webhook: { ...again, ...fresh }, confirmed: [] })
      expect(await webhooks.due(id, NOW * 2, ALL)).toEqual({ deliveries: [], nextAt: null })
      expect(await webhooks.failing(id, ALL)).toEqual([])
      expect(await webhooks.fates(id, [3, 4, 11])).toEqual(
        new Map([3, 4, 11].map((each) => [each, { state: 'unread' }])),
      )
      expect(await webhooks.attempts(id, ALL)).toEqual([])
      expect(await webhooks.minutes(id, 0)).toEqual([])
    })

    promise('are removed however much waits for them', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const kept = Array.from({ length: 2500 }, (_, n) => untried(n, { lane: n % 100 }))
      await webhooks.save(holder, [save(id, { kept })], NOW)
      expect(await webhooks.remove(id)).toBe(true)
      await webhooks.add(webhook({ id }))
      expect(await webhooks.due(id, NOW * 2, ALL)).toEqual({ deliveries: [], nextAt: null })
    })

    promise('are paused together, those of one customer or all', async ({ webhooks }) => {
      const [one, two, all] = [webhook({ customerId: 'c-1' }), webhook({ customerId: 'c-2' }), webhook()]
      for (const each of [one, two, all]) await webhooks.add(each)
      const states = async () => (await webhooks.list()).map(({ paused, version }) => [paused?.reason, version])
      expect(await webhooks.pauseAll('customer-removed', NOW, 'c-1')).toBe(1)
      expect(await states()).toEqual([
        ['customer-removed', 2],
        [undefined, 1],
        [undefined, 1],
      ])
      expect(await webhooks.pauseAll('restored', NOW + 1)).toBe(2)
      expect(await webhooks.pauseAll('restored', NOW + 2)).toBe(0)
      expect(await states()).toEqual([
        ['customer-removed', 2],
        ['restored', 2],
        ['restored', 2],
      ])
      expect((await webhooks.find(two.id))?.paused).toEqual({ reason: 'restored', at: NOW + 1 })
    })

    promise('have their secrets rewrapped, all or none', async ({ webhooks }) => {
      const [one, other] = [webhook({ secret: 'a' }), webhook({ secret: 'b' })]
      for (const each of [one, other]) await webhooks.add(each)
      await webhooks.change(one.id, { formerSecret: { sealed: 'c', until: NOW } })
      const texts = async () =>
        (await webhooks.list()).map(({ secret, formerSecret }) => [secret, formerSecret?.sealed])
      const change = (id: string, which: 'secret' | 'formerSecret', from: string, to: string) => ({
        id,
        which,
        from,
        to,
      })
      const refused = [
        [change(one.id, 'secret', 'a', 'x'), change(other.id, 'secret', 'not b', 'y')],
        [change(one.id, 'secret', 'a', 'x'), change('none', 'secret', 'b', 'y')],
        [change(one.id, 'secret', 'a', 'x'), change(other.id, 'formerSecret', 'b', 'y')],
      ]
      for (const changes of refused) expect(await webhooks.rewrap(changes)).toBe(false)
      expect(await texts()).toEqual([
        ['a', 'c'],
        ['b', undefined],
      ])
      const every = [
        change(other.id, 'secret', 'b', 'y'),
        change(one.id, 'formerSecret', 'c', 'z'),
        change(one.id, 'secret', 'a', 'x'),
      ]
      const done = await Promise.all([1, 2, 3].map(() => webhooks.rewrap(every)))
      expect(done.filter(Boolean)).toEqual([true])
      expect(await texts()).toEqual([
        ['x', 'z'],
        ['y', undefined],
      ])
      expect((await webhooks.find(one.id)) as Webhook).toMatchObject({ formerSecret: { until: NOW } })
      expect(await webhooks.rewrap([])).toBe(true)
    })
  })
}
