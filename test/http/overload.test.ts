import { spawnSync } from 'node:child_process'
import Fastify from 'fastify'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { measureOverload } from '#src/http/connections/limits.ts'
import { TestClock, testApp } from '../support/app/test-app.ts'

const MEBIBYTE = 1024 * 1024
const clock = new TestClock()
let heap = { used: 0, needed: 0, collected: 0 }
const v8 = {
  statistics: () => ({ used: heap.used, old: heap.used, oldLimit: 1000 * MEBIBYTE }),
  collectGarbage: () => {
    heap = { used: heap.needed || 80 * MEBIBYTE, needed: heap.needed, collected: heap.collected + 1 }
  },
}

beforeEach(() => {
  heap = { used: 0, needed: 0, collected: 0 }
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
})

/** Turns of the event loop, each with some requests, that take so long. */
function measured() {
  const app = Fastify()
  const overload = measureOverload(app, clock, v8)
  const turns = (count: number, requests: number, milliseconds: number): void => {
    for (let turn = 0; turn < count; turn++) {
      for (let request = 0; request < requests; request++) overload.refuses(false)
      clock.time += milliseconds
      vi.advanceTimersByTime(50)
    }
  }
  const answers = () => ({ read: !overload.refuses(true), delivery: !overload.refuses(false) })
  return { turns, answers, isOverloaded: overload.isOverloaded, delays: app.loopDelay.reader() }
}

it('an idle process is not looked at; one with requests is, and once more after them', () => {
  const { turns, delays } = measured()
  expect(vi.getTimerCount()).toBe(0)
  turns(1, 1, 50)
  turns(20, 0, 50)
  expect([vi.getTimerCount(), delays()]).toEqual([0, { p50: 0.001, p90: 0.001, p99: 0.001, max: 0.001 }])
  turns(1, 1, 80)
  expect([vi.getTimerCount(), delays()?.max]).toEqual([1, expect.closeTo(30, 1)])
  turns(20, 0, 50)
  expect([vi.getTimerCount(), delays()?.max]).toEqual([0, 0.001])
  expect(delays()).toBeUndefined()
})

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
    const { turns, answers, isOverloaded } = measured()
    turns(10, 50, 5000)
    expect(answers()).toEqual({ read: true, delivery: true })
    expect(isOverloaded()).toBe(false)
  })

  it('is overloaded, so that nothing is compressed, from the first late turn until one in time', () => {
    const { turns, answers, isOverloaded } = measured()
    expect(isOverloaded()).toBe(false)
    turns(1, 1000, 800)
    expect([isOverloaded(), answers().read]).toEqual([true, true])
    turns(1, 1000, 60)
    expect(isOverloaded()).toBe(false)
    heap.used = 950 * MEBIBYTE
    heap.needed = 950 * MEBIBYTE
    turns(1, 1, 60)
    expect(isOverloaded()).toBe(true)
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

it.each(['GET', 'HEAD'] as const)('a refused %s is a 503 with Retry-After; HEAD has no body', async (method) => {
  const { app, clock } = await testApp()
  const read = (url: string) => app.inject({ method, url })
  const before = await read('/Purchase/list')
  expect(before.statusCode).toBe(401)
  for (let turn = 0; turn < 3; turn++) {
    for (let request = 0; request < 100; request++) await read('/livez')
    clock.time += 800
    vi.advanceTimersByTime(50)
  }
  for (const url of ['/Purchase/list', '/Customer/Get', '/docs', '/nowhere']) {
    const { statusCode, headers, payload } = await read(url)
    expect([statusCode, headers['retry-after']], url).toEqual([503, '1'])
    expect(payload === '', url).toBe(method === 'HEAD')
    if (method === 'GET') expect(JSON.parse(payload)).toMatchObject({ success: false, errorCode: 'OVERLOADED' })
  }
  for (const url of ['/livez', '/readyz']) expect((await read(url)).statusCode).toBe(200)
  // The POST of a delivery is refused for its missing key only.
  const delivery = await app.inject({ method: 'POST', url: '/Purchase/update', payload: '{}' })
  expect(delivery.statusCode).toBe(401)
})

it('a heap that is nearly full is collected, at most once a second, and refuses everything until there is room again', () => {
  const { turns, answers } = measured()
  heap.used = 901 * MEBIBYTE
  turns(1, 1, 50)
  expect([answers(), heap.collected]).toEqual([{ read: true, delivery: true }, 1])
  heap.used = heap.needed = 901 * MEBIBYTE
  turns(10, 1, 50)
  expect([answers(), heap.collected]).toEqual([{ read: false, delivery: false }, 1])
  turns(20, 1, 50)
  expect([answers(), heap.collected]).toEqual([{ read: false, delivery: false }, 2])
  heap.used = 500 * MEBIBYTE
  turns(1, 1, 50)
  expect(answers()).toEqual({ read: true, delivery: true })
})

it('the limit for old objects is the one that a process was given', () => {
  const { stdout } = spawnSync(
    process.execPath,
    [
      '--max-old-space-size=128',
      '--input-type=module',
      '-e',
      `const { V8_HEAP } = await import(process.argv[1])
       const { used, old, oldLimit } = V8_HEAP.statistics()
       console.log(oldLimit / ${MEBIBYTE}, old > 0 && old < used)`,
      new URL('../../src/http/connections/limits.ts', import.meta.url).href,
    ],
    { encoding: 'utf8' },
  )
  expect(stdout).toBe('128 true\n')
})
