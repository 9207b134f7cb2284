import { describe, expect } from 'vitest'
import { type Open, promises } from './promises.ts'

export function describeHealth(name: string, open: Open): void {
  const { promise } = promises(open)

  describe(`${name}: health`, () => {
    promise('an open store answers', async (store) => {
      await expect(store.ping()).resolves.toBeUndefined()
    })
  })
}
