import Fastify from 'fastify'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { measurePressure } from '#src/http/connections/pressure.ts'
import { TestClock } from '../support/test-app.ts'

const MEBIBYTE = 1024 * 1024
const clock = new TestClock()
let heap = { used: 0, collected: 0 }
const v8 = {
  statistics: () => ({ used_heap_size: heap.used, heap_size_limit: 1000 * MEBIBYTE }) as never,
  collectGarbage: () => {
    heap = { used: 80 * MEBIBYTE, collected: heap.collected + 1 }
  },
}

beforeEach(() => {
  heap = { used: 0, collected: 0 }
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
})

/** Turns of the event loop, each with some requests, that take so long. */
function measured() {
  const pressure = measurePressure(Fastify(), { now: () => clock.now(), monotonic: () => clock.monotonic() }, v8)
  const turns = (count: number, requests: number, milliseconds: number): void => {
    for (let turn = 0; turn < count; turn++) {
      for (let request = 0; request < requests; request++) pressure.refuses(false)
      clock.time += milliseconds
      vi.advanceTimersByTime(50)
    }
  }
  const answers = () => ({ read: !pressure.refuses(true), delivery: !pressure.refuses(false) })
  return { turns, answers }
}

describe('an event loop that cannot keep up', () => {
  it('refuses reads after three late turns with many requests, but no delivery, and takes reads again after one in time', () => {
    const { turns, answers } = measured()
    turns(2, 1000, 800)
    expect(answers()).toEqual({ read: true, delivery: true })
    turns(1, 1000, 800)
    expect(answers()).toEqual({ read: false, delivery: true })
    turns(1, 1000, 60)
    expect(answers()).toEqual({ read: true, delivery: true })
  })

  it('is none when the machine pauses, however often, and few requests come', () => {
    const { turns, answers } = measured()
    turns(10, 50, 5000)
    expect(answers()).toEqual({ read: true, delivery: true })
  })

  it('collects garbage when the heap has grown, and again only when it has grown from there', () => {
    const { turns } = measured()
    heap.used = 100 * MEBIBYTE
    turns(1, 1000, 60)
    expect(heap.collected).toBe(0)
    turns(1, 1000, 800)
    expect(heap.collected).toBe(1)
    heap.used = 119 * MEBIBYTE
    turns(1, 1000, 800)
    expect(heap.collected).toBe(1)
    heap.used = 121 * MEBIBYTE
    turns(1, 1000, 800)
    expect(heap.collected).toBe(2)
  })
})

it('a heap that is nearly full refuses everything until there is room again', () => {
  const { turns, answers } = measured()
  heap.used = 901 * MEBIBYTE
  turns(1, 1, 50)
  expect(answers()).toEqual({ read: false, delivery: false })
  heap.used = 500 * MEBIBYTE
  turns(1, 1, 50)
  expect(answers()).toEqual({ read: true, delivery: true })
})
