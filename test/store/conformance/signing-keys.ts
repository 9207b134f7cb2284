import { describe, expect } from 'vitest'
import type { SigningKey } from '#src/store/store.ts'
import { key } from '../../support/store/store-rows.ts'
import { changesAccountVersion, type Open, promises } from './promises.ts'

export function describeSigningKeys(name: string, open: Open): void {
  describe(`${name}: signing keys`, () => {
    const { promise } = promises(open)

    promise('the first key of an algorithm is kept, whoever comes at the same time', async ({ signingKeys }) => {
      const first = key()
      const rivals = [first, key({ algorithm: first.algorithm }), key({ algorithm: first.algorithm })]
      const kept = await Promise.all(rivals.map((candidate) => signingKeys.insertFirst(candidate)))
      expect(new Set(kept.map(({ kid }) => kid)).size).toBe(1)
      expect((await signingKeys.list()).filter(({ algorithm }) => algorithm === first.algorithm)).toEqual([kept[0]])
    })

    promise('another algorithm has a key of its own, and the newest comes first', async ({ signingKeys }) => {
      const [older, newer] = [key({ createdAt: 9e12 }), key({ createdAt: 9e12 + 1 })]
      expect(await signingKeys.insertFirst(older)).toEqual(older)
      expect(await signingKeys.insertFirst(newer)).toEqual(newer)
      expect((await signingKeys.list()).slice(0, 2)).toEqual([newer, older])
    })

    promise('of many rotations at once one is done, and the others leave nothing behind', async ({ signingKeys }) => {
      const old = key()
      await signingKeys.insertFirst(old)
      const rivals = Array.from({ length: 8 }, () => key({ algorithm: old.algorithm, createdAt: old.createdAt + 1 }))
      const done = await Promise.all(rivals.map((candidate) => signingKeys.rotate(candidate, old.kid, 9e14)))
      expect(done.filter(Boolean)).toEqual([true])
      const winner = rivals[done.indexOf(true)] as SigningKey
      const kept = (await signingKeys.list()).filter(({ algorithm }) => algorithm === old.algorithm)
      expect(kept).toEqual([winner, { ...old, expiresAt: 9e14 }])
      expect(await signingKeys.rotate(key({ algorithm: old.algorithm }), old.kid, 1)).toBe(false)
      expect(await signingKeys.rotate(key(), 'none', 1)).toBe(false)
      expect((await signingKeys.list()).filter(({ expiresAt }) => expiresAt === 1)).toEqual([])
      expect(await signingKeys.insertFirst(key({ algorithm: old.algorithm }))).toEqual(winner)
    })

    promise('a rotation ends keys of every algorithm, none of them later than before', async ({ signingKeys }) => {
      const [first, other] = [key(), key()]
      const [second, third] = [key({ algorithm: first.algorithm }), key({ algorithm: first.algorithm })]
      await signingKeys.insertFirst(other)
      await signingKeys.insertFirst(first)
      await signingKeys.rotate(second, first.kid, 9e14 + 5)
      await signingKeys.rotate(third, second.kid, 9e14 + 7)
      const ends = new Map((await signingKeys.list()).map(({ kid, expiresAt }) => [kid, expiresAt]))
      expect([first, other, second, third].map(({ kid }) => ends.get(kid))).toEqual([
        9e14 + 5,
        9e14 + 5,
        9e14 + 7,
        null,
      ])
      const next = key({ algorithm: other.algorithm })
      expect(await signingKeys.insertFirst(next)).toEqual(next)
    })

    promise('a key is removed once it has expired, and only then', async ({ signingKeys }) => {
      const [old, fresh] = [key({ createdAt: 1 }), key()]
      const candidate = { ...fresh, algorithm: old.algorithm }
      await signingKeys.insertFirst(old)
      await signingKeys.rotate(candidate, old.kid, 70)
      const kids = async () => (await signingKeys.list()).map(({ kid }) => kid)
      await signingKeys.removeExpired(69)
      expect(await kids()).toContain(old.kid)
      expect(await signingKeys.removeExpired(70)).toBeGreaterThan(0)
      expect(await signingKeys.removeExpired(70)).toBe(0)
      expect(await kids()).not.toContain(old.kid)
      expect(await kids()).toContain(fresh.kid)
    })

    promise('keys are rewrapped all or none', async ({ signingKeys }) => {
      const [one, other] = [key({ privateJwk: 'a' }), key({ privateJwk: 'b' })]
      await signingKeys.insertFirst(one)
      await signingKeys.insertFirst(other)
      const texts = async () => {
        const all = new Map((await signingKeys.list()).map(({ kid, privateJwk }) => [kid, privateJwk]))
        return [all.get(one.kid), all.get(other.kid)]
      }
      const change = (kid: string, from: string, to: string) => ({ kid, from, to })
      expect(await signingKeys.rewrap([change(one.kid, 'a', 'x'), change(other.kid, 'not b', 'y')])).toBe(false)
      expect(await signingKeys.rewrap([change(one.kid, 'a', 'x'), change('none', 'b', 'y')])).toBe(false)
      expect(await texts()).toEqual(['a', 'b'])
      const both = [change(one.kid, 'a', 'x'), change(other.kid, 'b', 'y')]
      const done = await Promise.all([1, 2, 3].map(() => signingKeys.rewrap(both)))
      expect(done.filter(Boolean)).toEqual([true])
      expect(await texts()).toEqual(['x', 'y'])
    })

    promise(
      'the account version changes with every signing key that is made, rotated, removed or rewrapped',
      async (store) => {
        const { signingKeys } = store
        const [old, fresh] = [key(), key()]
        const candidate = { ...fresh, algorithm: old.algorithm }
        const changesVersion = (work: () => Promise<unknown>) => changesAccountVersion(store, work)
        expect(await changesVersion(() => signingKeys.insertFirst(old))).toBe(true)
        expect(await changesVersion(() => signingKeys.insertFirst(candidate))).toBe(false)
        expect(await changesVersion(() => signingKeys.rotate(candidate, old.kid, 80))).toBe(true)
        expect(await changesVersion(() => signingKeys.removeExpired(80))).toBe(true)
        expect(await changesVersion(() => signingKeys.removeExpired(80))).toBe(false)
        const rewrap = { kid: fresh.kid, from: fresh.privateJwk, to: 'z' }
        expect(await changesVersion(() => signingKeys.rewrap([rewrap]))).toBe(true)
        expect(await changesVersion(() => signingKeys.rewrap([rewrap]))).toBe(false)
      },
    )
  })
}
