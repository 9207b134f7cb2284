import { expect, it, onTestFinished, vi } from 'vitest'
import { keptWork, sharedOrNext, sharedWithin, sharedWork } from '#src/lib/shared-work.ts'

/** Work that ends when it is told to. */
const work = () => {
  const started: { asked: string; end: PromiseWithResolvers<string> }[] = []
  const start = (asked = '') => {
    const end = Promise.withResolvers<string>()
    started.push({ asked, end })
    return end.promise
  }
  return { started, start }
}

it('shared work is done once while it is under way, once for each key, and again afterwards', async () => {
  const { started, start } = work()
  const ask = sharedWork(start, (asked) => asked ?? '')
  const [one, same, other] = [ask('a'), ask('a'), ask('b')]
  expect(started.map(({ asked }) => asked)).toEqual(['a', 'b'])
  started[0]?.end.resolve('first')
  started[1]?.end.reject(new Error('no'))
  expect([await one, await same]).toEqual(['first', 'first'])
  await expect(other).rejects.toThrow('no')
  void ask('a')
  expect(started.map(({ asked }) => asked)).toEqual(['a', 'b', 'a'])
})

it('work that takes longer than its limit is refused to all who wait and who ask later, goes on once, and is done again after its end', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { started, start } = work()
  const ask = sharedWithin(
    1000,
    () => start(),
    () => Promise.reject(new Error('late')),
  )
  const waiting = [ask(), ask()].map((each) => each.catch((error: Error) => error.message))
  await vi.advanceTimersByTimeAsync(999)
  const last = ask().catch((error: Error) => error.message)
  await vi.advanceTimersByTimeAsync(1)
  expect(await Promise.all([...waiting, last])).toEqual(['late', 'late', 'late'])
  await expect(ask()).rejects.toThrow('late')
  expect(started).toHaveLength(1)
  started[0]?.end.resolve('in the end')
  await vi.advanceTimersByTimeAsync(0)
  const next = ask()
  started[1]?.end.resolve('in time')
  expect([await next, started.length]).toEqual(['in time', 2])
})

it('kept work is done once, and again only after a failure', async () => {
  const { started, start } = work()
  const ask = keptWork(() => start())
  const failing = [ask(), ask()]
  started[0]?.end.reject(new Error('no'))
  for (const one of failing) await expect(one).rejects.toThrow('no')
  const next = ask()
  started[1]?.end.resolve('kept')
  expect([await next, await ask(), started.length]).toEqual(['kept', 'kept', 2])
})

it('work that is asked for while it is under way is done once more after that, for all who asked, also after a failure', async () => {
  const { started, start } = work()
  const ask = sharedOrNext(async () => void (await start()))
  const [first, ...waiting] = [ask(), ask(), ask()]
  expect(started).toHaveLength(1)
  started[0]?.end.reject(new Error('no'))
  await expect(first).rejects.toThrow('no')
  expect(started).toHaveLength(2)
  const third = ask()
  started[1]?.end.resolve('second')
  await Promise.all(waiting)
  expect(started).toHaveLength(3)
  started[2]?.end.resolve('third')
  await third
  void ask()
  expect(started).toHaveLength(4)
})
