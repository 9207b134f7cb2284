import { describe, expect } from 'vitest'
import type { Webhook } from '#src/store/store.ts'
import { webhook } from '../../support/store/store-rows.ts'
import { ALL, attempt, confirmation, NOW, save, untried, waiting } from '../../support/webhooks/webhook-rows.ts'
import type { Open } from './promises.ts'
import { held, webhookPromises } from './webhook-promises.ts'

export function describeWebhooks(name: string, open: Open): void {
  describe(`${name}: webhooks`, () => {
    const { promise } = webhookPromises(open)

    const fresh = {
      formerSecret: null,
      headers: null,
      formerFilters: [],
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

    promise('have settings that a change replaces one by one, with null for none', async ({ webhooks }) => {
      const one = webhook({ customerId: 'c-1', statuses: [1], duplicates: false, ca: 'PEM', giveUpMilliseconds: 5 })
      await webhooks.add(one)
      const { position: _, id, createdAt: _at, secret: _secret, ...settings } = one
      const other = {
        url: 'https://other.example/',
        customerId: null,
        statuses: null,
        duplicates: true,
        ca: null,
        giveUpMilliseconds: null,
      }
      const names = Object.keys(other) as (keyof typeof other)[]
      let expected = settings
      for (const [index, name] of names.entries()) {
        expected = { ...expected, [name]: other[name] }
        const changed = await webhooks.change(id, { [name]: other[name] })
        expect(changed).toMatchObject({ ...expected, secret: one.secret, position: one.position, version: index + 2 })
      }
      // At once, as two operators may.
      const both = [{ url: 'https://third.example/' }, { statuses: [0, 3] }, { giveUpMilliseconds: 9 }]
      await Promise.all(both.map((each) => webhooks.change(id, each)))
      expect(await webhooks.find(id)).toMatchObject({ ...other, ...Object.assign({}, ...both), version: 10 })
      expect(await webhooks.change('none', { url: 'x' })).toBeUndefined()
    })

    promise('have headers, which a change replaces only if they are what it knew', async ({ webhooks }) => {
      const { id } = webhook()
      await webhooks.add(webhook({ id }))
      const changed = await webhooks.change(id, { headers: { from: null, to: 'a' }, duplicates: false })
      expect(changed).toMatchObject({ headers: 'a', duplicates: false, version: 2 })
      expect(await webhooks.change(id, { headers: { from: null, to: 'b' }, duplicates: true })).toBeUndefined()
      expect(await webhooks.find(id)).toEqual(changed)
      const race = ['x', 'y', 'z'].map((to) => webhooks.change(id, { headers: { from: 'a', to } }))
      expect((await Promise.all(race)).filter((each) => each !== undefined)).toHaveLength(1)
      const { headers = null } = (await webhooks.find(id)) ?? {}
      expect(await webhooks.rewrap([{ id, which: 'headers', from: 'a', to: 'b' }])).toBe(false)
      expect(await webhooks.rewrap([{ id, which: 'headers', from: headers ?? '', to: 'b' }])).toBe(true)
      expect(await webhooks.change(id, { headers: { from: 'b', to: null } })).toMatchObject({
        headers: null,
        version: 5,
      })
    })

    promise('remember each filter up to the position at which the next one was loaded', async (store) => {
      const { webhooks } = store
      const { id, holder } = await held(store)
      const filter = { customerId: null, statuses: null, duplicates: true }
      const former = async () => (await webhooks.find(id))?.formerFilters
      await webhooks.change(id, { url: 'https://other.example/', ...filter })
      expect(await former()).toEqual([])
      await webhooks.save(holder, [save(id, { position: 5 })], NOW)
      await webhooks.change(id, { statuses: [1] })
      // What nobody has loaded was never in force.
      await webhooks.change(id, { duplicates: false })
      expect(await former()).toEqual([{ ...filter, until: null }])
      await webhooks.save(holder, [save(id, { position: 7 })], NOW)
      expect((await webhooks.load(id))?.webhook).toMatchObject({ statuses: [1], duplicates: false, position: 7 })
      const ended = [{ ...filter, until: 7 }]
      expect(await former()).toEqual(ended)
      await webhooks.load(id)
      expect(await former()).toEqual(ended)
      // One that was in force for nothing is forgotten.
      await webhooks.change(id, { customerId: 'c-1' })
      await webhooks.load(id)
      expect(await former()).toEqual(ended)
      await webhooks.save(holder, [save(id, { position: 9 })], NOW)
      await webhooks.change(id, { customerId: null, statuses: null })
      await webhooks.load(id)
      const last = { customerId: 'c-1', statuses: [1], duplicates: false, until: 9 }
      expect(await former()).toEqual([...ended, last])
      for (let position = 10; position < 120; position++) {
        await webhooks.change(id, { statuses: [position % 2] })
        await webhooks.load(id)
        await webhooks.save(holder, [save(id, { position })], NOW)
      }
      expect(await former()).toHaveLength(100)
    })

    promise(
      'are not loaded while they are changed again, so that no filter is in force unknown',
      async ({ webhooks }) => {
        const { id } = webhook()
        await webhooks.add(webhook({ id, position: 3 }))
        for (let turn = 0; turn < 20; turn++) {
          const statuses = [turn % 2]
          await webhooks.change(id, { statuses })
          const [loaded] = await Promise.all([webhooks.load(id), webhooks.change(id, { statuses: [2] })])
          const found = await webhooks.find(id)
          // Loaded before the change: that filter ended. Otherwise whoever pushes loads it again.
          if (loaded !== undefined && loaded.webhook.statuses?.[0] !== 2)
            expect(found?.formerFilters.at(-1)?.until).toBeNull()
          expect((await webhooks.load(id))?.webhook.statuses).toEqual([2])
          expect((await webhooks.find(id))?.formerFilters).toEqual([
            { customerId: null, statuses: null, duplicates: true, until: 3 },
          ])
        }
      },
    )

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
