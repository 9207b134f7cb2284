import { describe, expect } from 'vitest'
import { type Open, promises } from './promises.ts'

export function describeSecrets(name: string, open: Open): void {
  describe(`${name}: secrets`, () => {
    const { withCustomers } = promises(open)

    withCustomers('the first one of a name is kept, whoever comes at the same time', async ({ secrets }, one) => {
      const candidates = [1, 2, 3].map((byte) => Buffer.alloc(32, byte))
      const kept = await Promise.all(candidates.map((candidate) => secrets.findOrInsert(one.id, candidate)))
      expect(new Set(kept.map((value) => Buffer.from(value).toString('hex'))).size).toBe(1)
      expect(Buffer.from(await secrets.findOrInsert(one.id, Buffer.alloc(32, 9)))).toEqual(Buffer.from(kept[0] ?? []))
    })

    withCustomers('a renamed one is found under its new name only', async ({ secrets }, one) => {
      const value = Buffer.from(`of ${one.id}`)
      await secrets.findOrInsert(`${one.id}-key`, value)
      await secrets.rename(`${one.id}-key`, `${one.id}-key:7`)
      await secrets.rename(`${one.id}-unknown`, `${one.id}-key:8`)
      const found = await secrets.list(`${one.id}-k`)
      expect(found.map(({ name, value }) => [name, `${Buffer.from(value)}`])).toEqual([
        [`${one.id}-key:7`, `of ${one.id}`],
      ])
      expect(await secrets.list(`${one.id}_key`)).toEqual([])
      expect(Buffer.from(await secrets.findOrInsert(`${one.id}-key`, Buffer.of(1)))).toEqual(Buffer.of(1))
    })
  })
}
