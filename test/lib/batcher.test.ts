import { describe, expect, it } from 'vitest'
import { createBatcher } from '#src/lib/batcher.ts'

/** A batcher whose commits end when the test says so. */
function controlled({
  maxItems = 100,
  maxBytes = 1000,
  maxWaitMilliseconds = 60_000,
  bytesOf = (item: string) => item.length,
  monotonic = () => performance.now(),
} = {}) {
  const commits: { batch: readonly string[]; end: PromiseWithResolvers<readonly string[]> }[] = []
  let started = Promise.withResolvers<void>()
  const batcher = createBatcher<string, string>({
    bytesOf,
    maxItems,
    maxBytes,
    whenFull: () => new Error('full'),
    maxWaitMilliseconds,
    monotonic,
    commit(batch) {
      const end = Promise.withResolvers<readonly string[]>()
      commits.push({ batch, end })
      started.resolve()
      return end.promise
    },
  })
  const nextCommit = async () => {
    await started.promise
    started = Promise.withResolvers()
    const { batch, end } = commits.at(-1) ?? { batch: [], end: Promise.withResolvers<readonly string[]>() }
    return { batch, end: () => end.resolve(batch.map((item) => `${item}!`)), fail: () => end.reject(new Error('lost')) }
  }
  return { batcher, nextCommit, commits }
}

it('commits items that arrive together in one batch, and items that arrive meanwhile in the next', async () => {
  const { batcher, nextCommit, commits } = controlled()
  const first = [batcher.submit('a'), batcher.submit('b')]
  const one = await nextCommit()
  expect(one.batch).toEqual(['a', 'b'])
  const second = [batcher.submit('c'), batcher.submit('d'), batcher.submit('e')]
  expect(commits).toHaveLength(1)
  one.end()
  expect(await Promise.all(first)).toEqual(['a!', 'b!'])
  const two = await nextCommit()
  expect(two.batch).toEqual(['c', 'd', 'e'])
  two.end()
  expect(await Promise.all(second)).toEqual(['c!', 'd!', 'e!'])
})

it('rejects the whole batch when its commit fails, and commits the next', async () => {
  const { batcher, nextCommit } = controlled()
  const first = Promise.allSettled([batcher.submit('a'), batcher.submit('b')])
  const one = await nextCommit()
  const second = batcher.submit('c')
  one.fail()
  expect((await first).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  ;(await nextCommit()).end()
  expect(await second).toBe('c!')
})

it('refuses items beyond its limits of number and bytes, and accepts items again later', async () => {
  const { batcher, nextCommit } = controlled({ maxItems: 2, maxBytes: 10 })
  const first = batcher.submit('1234567890123')
  await expect(batcher.submit('x')).rejects.toThrow('full')
  ;(await nextCommit()).end()
  await first
  await batcher.drained()
  const more = [batcher.submit('a'), batcher.submit('b')]
  await expect(batcher.submit('c')).rejects.toThrow('full')
  ;(await nextCommit()).end()
  expect(await Promise.all(more)).toEqual(['a!', 'b!'])
})

it('is drained when nothing waits and no commit is under way', async () => {
  const { batcher, nextCommit } = controlled()
  await batcher.drained()
  let drained = false
  const item = batcher.submit('a')
  const waiting = batcher.drained().then(() => {
    drained = true
  })
  const one = await nextCommit()
  expect(drained).toBe(false)
  one.end()
  await item
  await waiting
  expect(drained).toBe(true)
})

it('rejects items that have waited too long without committing them, and is drained afterwards', async () => {
  const { batcher, nextCommit, commits } = controlled({ maxWaitMilliseconds: 150 })
  const first = batcher.submit('a')
  const one = await nextCommit()
  const late = [batcher.submit('b'), batcher.submit('c')]
  expect(await Promise.allSettled(late)).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }])
  expect(commits).toHaveLength(1)
  one.end()
  expect(await first).toBe('a!')
  await batcher.drained()
  const again = batcher.submit('d')
  const two = await nextCommit()
  two.end()
  expect(await again).toBe('d!')
})

describe('a queue from which commits take less than comes in', () => {
  /** Each batch holds one item. */
  const slow = () => {
    const time = { now: 0 }
    const large = controlled({ maxBytes: 1e12, bytesOf: () => 5 * 1024 * 1024, monotonic: () => time.now })
    const commitTakes = async (milliseconds: number): Promise<void> => {
      const commit = await large.nextCommit()
      time.now += milliseconds
      commit.end()
      await new Promise(setImmediate)
    }
    return { ...large, commitTakes }
  }

  it('takes no more once all have waited long for a while, and again when it is empty', async () => {
    const { batcher, commitTakes } = slow()
    const taken = ['a', 'b', 'c', 'd', 'e', 'f'].map((item) => batcher.submit(item))
    await commitTakes(1100)
    taken.push(batcher.submit('g'))
    await commitTakes(1100)
    await expect(batcher.submit('x')).rejects.toThrow('full')
    for (let commit = 0; commit < 5; commit++) await commitTakes(1100)
    expect(await Promise.all(taken)).toEqual(['a!', 'b!', 'c!', 'd!', 'e!', 'f!', 'g!'])
    const next = batcher.submit('h')
    await commitTakes(1100)
    expect(await next).toBe('h!')
  })

  it('takes more after a single long pause of the store', async () => {
    const { batcher, commitTakes } = slow()
    const taken = ['a', 'b', 'c', 'd', 'e', 'f'].map((item) => batcher.submit(item))
    await commitTakes(10_000)
    for (let commit = 0; commit < 3; commit++) {
      taken.push(batcher.submit(String(commit)))
      await commitTakes(5)
    }
    for (let commit = 0; commit < 5; commit++) await commitTakes(5)
    expect(await Promise.all(taken)).toHaveLength(9)
  })
})

describe('a store with a limited capacity', () => {
  const STEP = 10

  /** Counts refusals at 2,000 items a second. The store commits one batch after the other, and hangs once for a while. */
  const refusedAt = async (capacity: number, { pauseAt = 0, pause = 0 } = {}) => {
    let now = 0
    const { batcher, commits } = controlled({ maxItems: 10_000, maxBytes: 1e12, monotonic: () => now })
    let ended = 0
    let endsAt: number | undefined
    let freeAt = 0
    let refused = 0
    for (; now < 12_000; now += STEP) {
      for (let item = 0; item < 2 * STEP; item++) batcher.submit('x').catch(() => refused++)
      await new Promise(setImmediate)
      for (let commit = commits[ended]; commit !== undefined; commit = commits[ended]) {
        const begun = Math.max(freeAt, now - STEP)
        endsAt ??= begun + (commit.batch.length * 1000) / capacity + (begun >= pauseAt && freeAt < pauseAt ? pause : 0)
        if (endsAt > now) break
        freeAt = endsAt
        endsAt = undefined
        ended++
        commit.end.resolve(commit.batch)
        await new Promise(setImmediate)
      }
    }
    return refused
  }

  it('refuses nothing after a pause of two seconds when it catches up', async () => {
    expect(await refusedAt(3000, { pauseAt: 1000, pause: 2000 })).toBe(0)
  })

  it('refuses what is too much when it never catches up', async () => {
    const refused = await refusedAt(1500)
    expect(refused).toBeGreaterThan(3000)
    expect(refused).toBeLessThan(9000)
  })
})

it('takes a burst after all that waited has expired', { timeout: 5000 }, async () => {
  let now = 0
  const { batcher, commits } = controlled({
    bytesOf: () => 5 * 1024 * 1024,
    maxBytes: 1e12,
    maxWaitMilliseconds: 5000,
    monotonic: () => now,
  })
  const settle = () => new Promise(setImmediate)
  const [a, b, ...late] = Array.from('abcd', (item) => batcher.submit(item))
  const expired = Promise.allSettled(late)
  await settle()
  await settle()
  now = 1100
  commits[0]?.end.resolve(['a!'])
  await a
  await settle()
  now = 6000
  expect(await expired).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }])
  commits[1]?.end.resolve(['b!'])
  await b
  await batcher.drained()
  now = 9000
  const burst = Array.from('0123456789', (item) => batcher.submit(item).catch(() => 'refused'))
  for (let commit = 2; commit < 12; commit++) {
    await settle()
    await settle()
    commits[commit]?.end.resolve(['!'])
  }
  expect(await Promise.all(burst)).toEqual(burst.map(() => '!'))
})
