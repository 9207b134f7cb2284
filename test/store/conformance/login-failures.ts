import { describe, expect } from 'vitest'
import { nextNumber } from '../../support/store/store-rows.ts'
import { type Open, promises } from './promises.ts'

export function describeLoginFailures(name: string, open: Open): void {
  describe(`${name}: login failures`, () => {
    const { promise } = promises(open)

    const named = () => Buffer.from(nextNumber().toString(16).padStart(32, '0'), 'hex')
    const none = { forget: [], countDown: [], remember: [] }
    const NOW = 1_763_726_400_123

    promise('are counted under each name, and found until they expire', async ({ loginFailures }) => {
      const [one, other, third] = [named(), named(), named()]
      const expiresAt = NOW + 1000
      expect(await loginFailures.count([{ name: one, expiresAt }], NOW)).toEqual([1])
      const both = [other, one].map((name) => ({ name, expiresAt: expiresAt + 1 }))
      expect(await loginFailures.count(both, NOW + 1)).toEqual([1, 2])
      expect(await loginFailures.find([third, one, other], NOW + 1)).toEqual([
        undefined,
        { count: 2, lastAt: NOW + 1 },
        { count: 1, lastAt: NOW + 1 },
      ])
      expect(await loginFailures.find([one], expiresAt + 1)).toEqual([undefined])
      expect(await loginFailures.count([{ name: one, expiresAt: NOW + 9000 }], expiresAt + 1)).toEqual([1])
    })

    promise('that come at once are each counted', async ({ loginFailures }) => {
      const names = [named(), named(), named()]
      const counts = await Promise.all(
        Array.from({ length: 20 }, (_, n) => {
          const turned = n % 2 ? names : names.toReversed()
          return loginFailures.count(
            turned.map((name) => ({ name, expiresAt: NOW + 1000 })),
            NOW,
          )
        }),
      )
      const first = counts.map((each, n) => each[n % 2 ? 0 : 2] as number).toSorted((a, b) => a - b)
      expect(first).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
    })

    promise('are settled together: forgotten, counted down, remembered', async ({ loginFailures }) => {
      const [pair, address, account, known] = [named(), named(), named(), named()]
      const all = [pair, address, account].map((name) => ({ name, expiresAt: NOW + 9000 }))
      await loginFailures.count(all, NOW)
      await loginFailures.count(all, NOW + 5)
      await loginFailures.count([all[2] as (typeof all)[0]], NOW + 6)
      const countDown = [account, address].map((name) => ({ name, countedAt: NOW + 5, countedAs: 2, lastAt: NOW }))
      const remember = [{ name: known, expiresAt: NOW + 9000 }]
      await loginFailures.settle({ forget: [pair], countDown, remember }, NOW + 7)
      expect(await loginFailures.find([pair, address, account, known], NOW + 7)).toEqual([
        undefined,
        { count: 1, lastAt: NOW },
        { count: 2, lastAt: NOW + 6 },
        { count: 0, lastAt: NOW + 7 },
      ])
      // Counted as another one than it says: somebody else's failure stays the last.
      const others = { name: account, countedAt: NOW + 6, countedAs: 3, lastAt: NOW }
      await loginFailures.settle({ ...none, countDown: [others, ...countDown.slice(1)], remember }, NOW + 8)
      await loginFailures.settle({ ...none, countDown: countDown.slice(1) }, NOW + 8)
      expect(await loginFailures.find([account], NOW + 8)).toEqual([{ count: 1, lastAt: NOW + 6 }])
      expect(await loginFailures.find([address, known], NOW + 8)).toEqual([
        { count: 0, lastAt: NOW },
        { count: 0, lastAt: NOW + 8 },
      ])
    })

    promise('that have expired go, at most two rows for one that comes', async ({ loginFailures }) => {
      const old = Array.from({ length: 5 }, named)
      await loginFailures.count(
        old.map((name) => ({ name, expiresAt: 10 })),
        5,
      )
      const left = async () => (await loginFailures.find(old, 9)).filter((each) => each !== undefined).length
      for (const expected of [3, 1, 0]) {
        await loginFailures.count([{ name: named(), expiresAt: NOW }], 11)
        expect(await left()).toBe(expected)
      }
    })
  })
}
