import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { every } from '#src/lib/time/every.ts'

describe('work that is repeated', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const setUp = (work: () => Promise<number | undefined>) => {
    const times: number[] = []
    const failures: unknown[] = []
    const repeated = every({
      firstMilliseconds: 1000,
      work: () => {
        times.push(Date.now() - begun)
        return work()
      },
      onFailed: (error, inARow) => {
        failures.push([error, inARow])
        return 100
      },
    })
    const begun = Date.now()
    return { ...repeated, times, failures }
  }

  it('begins after the first pause, and goes on after each pause that it asked for', async () => {
    const { start, times } = setUp(async () => 250)
    await vi.advanceTimersByTimeAsync(5000)
    expect(times).toEqual([])
    start()
    start()
    await vi.advanceTimersByTimeAsync(1600)
    expect(times).toEqual([6000, 6250, 6500])
  })

  it('counts the failures in a row, and goes on', async () => {
    const outcomes = [new Error('one'), new Error('two'), 300, new Error('three')]
    const { start, times, failures } = setUp(async () => {
      const outcome = outcomes.shift()
      if (outcome instanceof Error) throw outcome
      return outcome
    })
    start()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(times).toEqual([1000, 1100, 1200, 1500, 1600])
    expect(failures).toEqual([
      [new Error('one'), 1],
      [new Error('two'), 2],
      [new Error('three'), 1],
    ])
  })

  it('is never done twice at once, and what asked for it meanwhile is not forgotten', async () => {
    const ends: ((pause: number | undefined) => void)[] = []
    const { start, times } = setUp(() => new Promise((resolve) => ends.push(resolve)))
    start()
    await vi.advanceTimersByTimeAsync(1000)
    start()
    await vi.advanceTimersByTimeAsync(5000)
    expect(times).toEqual([1000])
    ends[0]?.(undefined)
    await vi.advanceTimersByTimeAsync(999)
    expect(times).toEqual([1000])
    await vi.advanceTimersByTimeAsync(1)
    expect(times).toEqual([1000, 7000])
    ends[1]?.(undefined)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(times).toEqual([1000, 7000])
    start()
    await vi.advanceTimersByTimeAsync(1000)
    expect(times).toEqual([1000, 7000, 68_000])
  })

  it('that is stopped waits for the step under way, and begins no other', async () => {
    const ends: (() => void)[] = []
    const { start, stop, times } = setUp(async () => {
      await new Promise<void>((resolve) => ends.push(resolve))
      return 10
    })
    start()
    await vi.advanceTimersByTimeAsync(1000)
    let isOver = false
    const stopped = stop().then(() => {
      isOver = true
    })
    await vi.advanceTimersByTimeAsync(1000)
    expect(isOver).toBe(false)
    ends[0]?.()
    await stopped
    start()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(times).toEqual([1000])
  })

  it('that is stopped before its first step does none', async () => {
    const { start, stop, times } = setUp(async () => 10)
    start()
    await stop()
    await vi.advanceTimersByTimeAsync(60_000)
    expect([times, vi.getTimerCount()]).toEqual([[], 0])
  })
})
