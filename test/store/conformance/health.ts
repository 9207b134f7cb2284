import { describe, expect } from 'vitest'
import { type Open, promises } from './promises.ts'

export function describeHealth(name: string, open: Open): void {
  describe(`${name}: health`, () => {
    const { promise } = promises(open)

    promise('an open store answers', async (store) => {
      await expect(store.ping()).resolves.toBeUndefined()
    })
  })
}
