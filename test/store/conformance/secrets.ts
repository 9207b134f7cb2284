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
  })
}
