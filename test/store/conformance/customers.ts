import { describe, expect, it } from 'vitest'
import { customer } from '../../support/store/store-rows.ts'
import { type Open, promises } from './promises.ts'

export function describeCustomers(name: string, open: Open): void {
  describe(`${name}: customers`, () => {
    const { promise } = promises(open)

    promise('a customer is found by id and by e-mail as it was inserted', async ({ customers }) => {
      const one = customer({
        isApi: false,
        scope: 'operator:support',
        payloads: true,
        enabled: false,
        tokenGeneration: '9fGq0ZkX3mB7sT1vWcY5eR',
      })
      expect(await customers.insert(one)).toBe('inserted')
      expect(await customers.findById(one.id)).toEqual(one)
      expect(await customers.findByEmail(one.email)).toEqual(one)
    })

    it('a customer is still there when the store is opened again', async () => {
      const one = customer({ regions: [], authority: [] })
      const first = await open()
      await first.customers.insert(one)
      await first.close()
      const second = await open()
      expect(await second.customers.findById(one.id)).toEqual(one)
      await second.close()
    })

    promise('an e-mail address that is taken leaves nothing behind', async ({ customers }) => {
      const first = customer()
      const second = customer({ email: first.email, authority: ['other'] })
      await customers.insert(first)
      expect(await customers.insert(second)).toBe('email-taken')
      expect(await customers.findById(second.id)).toBeUndefined()
      expect(await customers.findByEmail(first.email)).toEqual(first)
    })

    promise('two inserts of one e-mail address at once leave one', async ({ customers }) => {
      const email = customer().email
      const outcomes = await Promise.all([1, 2, 3].map(() => customers.insert(customer({ email }))))
      expect(outcomes.toSorted()).toEqual(['email-taken', 'email-taken', 'inserted'])
    })

    promise('an unknown customer is undefined', async ({ customers }) => {
      expect(await customers.findById('nobody')).toBeUndefined()
      expect(await customers.findByEmail("' OR 1=1 --")).toBeUndefined()
    })

    promise('the list goes by id, a page at a time', async ({ customers }) => {
      const [a, b, c] = [customer(), customer(), customer()]
      for (const one of [c, a, b]) await customers.insert(one)
      const before = `${a.id.slice(0, -1)}${Number(a.id.slice(-1)) - 1}`
      const page = await customers.list({ afterId: before, limit: 2 })
      expect(page).toEqual([a, b])
      expect(await customers.list({ afterId: b.id, limit: 2 })).toEqual([c])
      expect(await customers.list({ limit: 1 })).toHaveLength(1)
    })

    promise('a new password and its token generation take the place of the old ones', async ({ customers }) => {
      const one = customer()
      await customers.insert(one)
      expect(await customers.setPassword(one.id, 'new', 'b')).toBe(true)
      expect(await customers.findById(one.id)).toEqual({ ...one, passwordHash: 'new', tokenGeneration: 'b' })
    })

    promise('a hash is replaced only while it is the one that was read', async ({ customers }) => {
      const one = customer()
      await customers.insert(one)
      expect(await customers.replacePasswordHash(one.id, 'another', 'stale')).toBe(false)
      expect(await customers.replacePasswordHash(one.id, one.passwordHash, 'fresh')).toBe(true)
      expect(await customers.findById(one.id)).toEqual({ ...one, passwordHash: 'fresh' })
    })

    promise(
      'disabling keeps its reason and replaces the token generation; enabling forgets the one and leaves the other',
      async ({ customers }) => {
        const one = customer()
        await customers.insert(one)
        expect(await customers.disable(one.id, { reason: 'asked', tokenGeneration: 'b' })).toBe(true)
        const off = { enabled: false, disabledReason: 'asked', tokenGeneration: 'b' }
        expect(await customers.findById(one.id)).toEqual({ ...one, ...off })
        expect(await customers.enable(one.id)).toBe(true)
        expect(await customers.findById(one.id)).toEqual({ ...one, tokenGeneration: 'b' })
      },
    )

    promise('a scope changes in what is given, and only operators for support have payloads', async ({ customers }) => {
      const one = customer()
      await customers.insert(one)
      for (const [change, scope, payloads] of [
        [{ payloads: true }, 'customer', false],
        [{ scope: 'operator:support' }, 'operator:support', true],
        [{ isApi: true }, 'operator:support', true],
        [{ payloads: false }, 'operator:support', false],
        [{ scope: 'feed', payloads: true }, 'feed', false],
        [{ scope: 'operator:read' }, 'operator:read', false],
        [{ scope: 'operator' }, 'operator', false],
      ] as const) {
        expect(await customers.change(one.id, change)).toBe('changed')
        expect(await customers.findById(one.id)).toEqual({ ...one, scope, payloads })
      }
      await expect(customers.change(one.id, { scope: 'root' as 'operator' })).rejects.toThrow()
      await customers.remove(one.id, { tokenGeneration: 'c', now: 1, erase: false })
      expect(await customers.findById(one.id)).toMatchObject({ scope: 'customer', payloads: false })
    })

    promise('a name, a note and a silence change by themselves, and go when the customer is removed', async (store) => {
      const { customers } = store
      const one = customer()
      await customers.insert(one)
      const words = { name: 'Kitap A.\u015e. \u{1f4da}', note: 'two\nlines' }
      for (const change of [{ name: words.name }, { note: words.note }, { silence: 0 }, { silence: 86_400_000 }]) {
        expect(await customers.change(one.id, change)).toBe('changed')
      }
      expect(await customers.findById(one.id)).toEqual({ ...one, ...words, silence: 86_400_000 })
      await customers.change(one.id, { name: '', silence: null })
      expect(await customers.findById(one.id)).toEqual({ ...one, ...words, name: '', silence: null })
      await customers.change(one.id, { silence: 1 })
      await customers.disable(one.id, { reason: 'asked', tokenGeneration: 'b' })
      await customers.remove(one.id, { tokenGeneration: 'c', now: 1, erase: false })
      const nothing = { name: '', note: '', disabledReason: '', silence: null }
      const removed = await customers.findById(one.id)
      expect(removed).toMatchObject(nothing)
      // Whoever began to change it before must not bring anything back.
      expect(await customers.change(one.id, { ...words, email: 'back@example.com', silence: 1 })).toBe('missing')
      expect(await customers.disable(one.id, { reason: 'asked', tokenGeneration: 'd' })).toBe(false)
      expect(await customers.setPassword(one.id, 'hash', 'd')).toBe(false)
      expect(await customers.enable(one.id)).toBe(false)
      expect(await customers.findById(one.id)).toEqual(removed)
    })

    promise('disabling again without a reason keeps the former one', async ({ customers }) => {
      const one = customer()
      await customers.insert(one)
      for (const reason of ['asked', null])
        expect(await customers.disable(one.id, { reason, tokenGeneration: 'b' })).toBe(true)
      expect(await customers.findById(one.id)).toMatchObject({ disabledReason: 'asked' })
    })

    promise(
      'revoking tokens replaces the token generation and nothing else, also by one that sorts before it',
      async ({ customers }) => {
        const one = customer()
        await customers.insert(one)
        for (const tokenGeneration of ['b', 'a']) {
          expect(await customers.revokeTokens(one.id, tokenGeneration)).toBe(true)
          expect(await customers.findById(one.id)).toEqual({ ...one, tokenGeneration })
        }
      },
    )

    promise('a change replaces the token generation only if it brings another one', async ({ customers }) => {
      const one = customer()
      await customers.insert(one)
      await customers.change(one.id, { isApi: false })
      expect(await customers.findById(one.id)).toEqual({ ...one, isApi: false })
      await customers.change(one.id, { isApi: true, tokenGeneration: 'b' })
      expect(await customers.findById(one.id)).toEqual({ ...one, tokenGeneration: 'b' })
      expect(await customers.remove(one.id, { tokenGeneration: 'c', now: 1, erase: false })).toBe(true)
      expect(await customers.findById(one.id)).toMatchObject({ tokenGeneration: 'c' })
    })

    promise('authority rules are a set', async ({ customers }) => {
      const one = customer({ authority: ['b'] })
      await customers.insert(one)
      expect(await customers.addAuthority(one.id, ['a', 'b', 'a'])).toBe(true)
      expect((await customers.findById(one.id))?.authority).toEqual(['a', 'b'])
      expect(await customers.removeAuthority(one.id, ['b', 'none'])).toBe(true)
      expect((await customers.findById(one.id))?.authority).toEqual(['a'])
    })

    promise('a change to nobody changes nothing and says so', async ({ customers }) => {
      expect(await customers.setPassword('nobody', 'x', 'b')).toBe(false)
      expect(await customers.enable('nobody')).toBe(false)
      expect(await customers.disable('nobody', { reason: 'asked', tokenGeneration: 'b' })).toBe(false)
      expect(await customers.revokeTokens('nobody', 'b')).toBe(false)
      expect(await customers.addAuthority('nobody', ['a'])).toBe(false)
      expect(await customers.removeAuthority('nobody', ['a'])).toBe(false)
    })

    promise('text comes back to the code unit', async ({ customers }) => {
      const one = customer({ authority: ['ı\u212a\u017f', '漢字 \u{1f9fe}', 'quote\'"\\'] })
      await customers.insert(one)
      expect((await customers.findById(one.id))?.authority.toSorted()).toEqual(one.authority.toSorted())
    })
  })
}
