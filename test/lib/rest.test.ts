import { expect, it, onTestFinished, vi } from 'vitest'
import { createRest } from '#src/lib/worker/rest.ts'

const MIB = 1024 * 1024

it('a heap that has grown is collected once, five seconds after the last work, and nothing is awake before and after', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const heap = { size: 40 * MIB, collected: 0, bytes: () => heap.size, collectAll: () => void heap.collected++ }
  const collectedAfter = (milliseconds: number): number => {
    heap.collected = 0
    vi.advanceTimersByTime(milliseconds)
    return heap.collected
  }
  const { worked, end } = createRest(heap)
  expect(vi.getTimerCount()).toBe(0)
  worked()
  vi.advanceTimersByTime(4000)
  worked()
  expect([collectedAfter(4999), collectedAfter(1), vi.getTimerCount()]).toEqual([0, 1, 0])
  heap.size += 7 * MIB
  worked()
  expect([collectedAfter(60_000), vi.getTimerCount()]).toEqual([0, 0])
  heap.size += MIB
  worked()
  expect([collectedAfter(60_000), vi.getTimerCount()]).toEqual([1, 0])
  heap.size = 20 * MIB
  worked()
  end()
  expect(collectedAfter(60_000)).toBe(0)
})
