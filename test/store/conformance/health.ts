import { describe, expect } from 'vitest'
import { delivery } from '../../support/store/store-rows.ts'
import { type Open, promises } from './promises.ts'

export function describeHealth(name: string, open: Open): void {
  describe(`${name}: health`, () => {
    const { promise, withCustomers } = promises(open)

    promise('an open store answers', async (store) => {
      await expect(store.ping()).resolves.toBeUndefined()
    })

    promise('a store says what it takes of its disk', async (store) => {
      const { file, wal, free } = await store.diskUse()
      expect(file).toBeGreaterThan(0)
      expect([typeof wal, typeof free]).toEqual(name === 'sqlite' ? ['number', 'number'] : ['undefined', 'undefined'])
    })

    withCustomers('a store knows what waits to be stored, and how its commits went', async ({ deliveries }, one) => {
      const { load } = deliveries
      const commits = () => load.batchSizes.counts.reduce((sum, count) => sum + count, 0)
      const before = { commits: commits(), stored: load.batchSizes.sum() }
      const sent = [1, 2, 3].map(() => deliveries.deliver(delivery(one.id, { payload: Buffer.alloc(1000, 'x') })))
      expect(load.items()).toBe(3)
      expect(load.bytes()).toBe(3000)
      await Promise.all(sent)
      expect([load.items(), load.bytes()]).toEqual([0, 0])
      expect(load.batchSizes.sum()).toBe(before.stored + 3)
      expect(commits()).toBeGreaterThan(before.commits)
      expect(load.commitSeconds.counts.reduce((sum, count) => sum + count, 0)).toBe(commits())
      expect(load.commitSeconds.sum()).toBeGreaterThan(0)
    })

    promise('a store that was never backed up says so', async (store) => {
      expect(await store.lastBackupAt()).toBeUndefined()
    })
  })
}
