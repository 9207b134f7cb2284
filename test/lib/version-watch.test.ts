import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createVersionedCache, createVersionWatch } from '#src/lib/version-watch.ts'
import { TestClock } from '../support/app/test-app.ts'

/** A watch whose reads are answered in any order. */
function startWatch() {
  const clock = new TestClock()
  const reads: ((version: number) => void)[] = []
  const watch = createVersionWatch(() => new Promise((resolve) => reads.push(resolve)), clock)
  return { clock, reads, watch }
}
const nextTurn = () => new Promise(setImmediate)

describe('the version as it is now', () => {
  it('is read once for all callers of one turn, and not by a read that began before', async () => {
    const { reads, watch } = startWatch()
    const first = [watch.readNow(), watch.readNow()]
    expect(reads).toHaveLength(1)
    await nextTurn()
    const second = [watch.readNow(), watch.readNow()]
    await nextTurn()
    second.push(watch.readNow())
    expect(reads).toHaveLength(1)
    reads[0]?.(1)
    await Promise.all(first)
    expect([watch.version(), reads.length]).toEqual([1, 2])
    reads[1]?.(2)
    await Promise.all(second)
    expect([watch.version(), reads.length]).toEqual([2, 2])
  })

  it('is not replaced by what a read answers that began earlier', async () => {
    const { clock, reads, watch } = startWatch()
    const slow = watch.makeFresh()
    clock.time++
    const now = watch.readNow()
    reads[1]?.(2)
    await now
    reads[0]?.(1)
    await slow
    expect(watch.version()).toBe(2)
  })
})

describe('a cache that is cleared when the version changes', () => {
  it('never returns what was replaced before it was asked, in whatever order the store answers', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(
          fc.oneof(
            { weight: 2, arbitrary: fc.constantFrom('change', 'watch', 'settle') },
            { weight: 2, arbitrary: fc.constant('find') },
            { weight: 4, arbitrary: fc.constant('wait') },
          ),
          { maxLength: 60 },
        ),
        async (scheduler, steps) => {
          let value = 0
          const clock = new TestClock()
          /** The store reads at some time, and answers at a later one. */
          const read = async (name: string) => {
            await scheduler.schedule(Promise.resolve(), name)
            const seen = value
            await scheduler.schedule(Promise.resolve(), `${name} answered`)
            return seen
          }
          const watch = createVersionWatch(() => read('version'), clock)
          const cache = createVersionedCache<number>(watch)
          const find = async (): Promise<void> => {
            const atLeast = value
            await watch.readNow()
            // No version is read while the cache is asked, as in one turn of the event loop.
            const found = cache.get('key') ?? (await cache.load('key', () => read('value')))
            expect(found).toBeGreaterThanOrEqual(atLeast)
          }
          const finds: Promise<void>[] = []
          for (const step of steps) {
            clock.time++
            if (step === 'change') value++
            if (step === 'find') finds.push(find())
            if (step === 'watch') finds.push(watch.makeFresh())
            if (step === 'wait' && scheduler.count() > 0) await scheduler.waitOne()
            if (step === 'settle') await scheduler.waitFor(Promise.all(finds))
            await nextTurn()
          }
          await scheduler.waitFor(Promise.all(finds))
        },
      ),
      { numRuns: 300 },
    )
  })

  it('neither shares nor keeps what began to be loaded before a change was noticed', async () => {
    const { reads, watch } = startWatch()
    const cache = createVersionedCache<string>(watch)
    const notice = async (version: number): Promise<void> => {
      const noticed = watch.makeFresh()
      reads.pop()?.(version)
      await noticed
    }
    await notice(1)
    const slow = Promise.withResolvers<string>()
    const before = cache.load('key', () => slow.promise)
    await notice(2)
    expect(await cache.load('key', async () => 'new')).toBe('new')
    slow.resolve('old')
    expect([await before, cache.get('key')]).toEqual(['old', 'new'])
  })

  it('loads once for all that ask at once, and keeps what was found until the version changes', async () => {
    const { reads, watch } = startWatch()
    const cache = createVersionedCache<string>(watch)
    const loaded: string[] = []
    const ask = async (found?: string) =>
      cache.get('key') ??
      cache.load('key', async () => {
        loaded.push(String(found))
        return found
      })
    expect(await ask()).toBeUndefined()
    expect(await Promise.all([ask('one'), ask('two')])).toEqual(['one', 'one'])
    expect([await ask('three'), cache.get('key')]).toEqual(['one', 'one'])
    const changed = watch.makeFresh()
    reads[0]?.(1)
    await changed
    expect(cache.get('key')).toBeUndefined()
    expect(await ask('four')).toBe('four')
    expect(loaded).toEqual(['undefined', 'one', 'four'])
  })
})
