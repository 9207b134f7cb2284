import { expect, it } from 'vitest'
import { createCommitNotices } from '#src/store/sqlite/deliveries/commit-notices.ts'

/** Two threads on one store, and how often the first one was told of a commit. */
function twoThreads() {
  const commits = new Int32Array(new SharedArrayBuffer(4))
  const [one, other] = [createCommitNotices(commits), createCommitNotices(commits)]
  let told = 0
  const unwatch = one.watch(() => void told++)
  return { one, other, unwatch, told: () => told }
}

it('tells of own commits at once, and only once', async () => {
  const { one, other, told } = twoThreads()
  one.tell()
  one.tell()
  expect(told()).toBe(2)
  other.tell()
  await expect.poll(told).toBe(3)
})

it('tells of the commits of another thread, before, between and after own ones', async () => {
  const { one, other, told } = twoThreads()
  other.tell()
  await expect.poll(told).toBe(1)
  other.tell()
  one.tell()
  const after = told()
  // One notice of its own at once, and another one, because the other's commit may have come after what it saw.
  await expect.poll(told).toBe(after + 1)
  one.tell()
  other.tell()
  await expect.poll(told).toBe(after + 3)
})

it('tells nobody who no longer watches, and again whoever watches later', async () => {
  const { one, other, unwatch, told } = twoThreads()
  unwatch()
  expect(one.isWatched()).toBe(false)
  other.tell()
  let later = 0
  one.watch(() => void later++)
  other.tell()
  await expect.poll(() => later).toBeGreaterThan(0)
  expect(told()).toBe(0)
})
