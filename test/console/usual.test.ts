import { expect, it } from 'vitest'

const { usualOf } = await import(new URL('../../src/console/page/parts/now/usual.ts', import.meta.url).href)
const { topOf } = await import(new URL('../../src/console/page/parts/now/scale.ts', import.meta.url).href)

const HOUR = 3_600_000
const NOW = Date.UTC(2026, 10, 26, 11)
const SECONDS = 900

interface Counts {
  /** By hour: 25 hours ago, 24 hours ago, the others, and this hour. */
  readonly deliveries?: readonly [number, number, number, number]
  readonly refusals?: number
  readonly refusalsNow?: number
  readonly countedUntil?: number
}

const stats = ({ deliveries = [0, 0, 0, 0], refusals = 0, refusalsNow = 0, countedUntil = NOW }: Counts) => ({
  CountedUntil: new Date(countedUntil).toISOString(),
  Periods: Array.from({ length: 26 }, (_, index) => ({
    From: new Date(NOW + (index - 25) * HOUR).toISOString(),
    Deliveries: { Total: index === 25 ? deliveries[3] : deliveries[Math.min(index, 2)] },
    Refusals: { Total: index === 25 ? refusalsNow : refusals },
  })),
})

interface Recent {
  readonly total?: number
  readonly refusals?: number
  /** So many minutes after the hour. */
  readonly minute?: number
  readonly knownSeconds?: number
}

/** Columns of five seconds, up to so many minutes after the hour. */
const recent = ({ total = 0, refusals = 0, minute = 30, knownSeconds = SECONDS }: Recent) =>
  Array.from({ length: SECONDS / 5 }, (_, index) => ({
    from: NOW + minute * 60_000 - (index + 1) * 5000,
    to: NOW + minute * 60_000 - index * 5000,
    seconds: 5,
    known: index * 5 < knownSeconds,
    byStatus: [index === 0 ? total : 0, 0, 0, 0],
    duplicates: 0,
    refusals: index === 0 ? { X: refusals } : {},
    logins: {},
  }))

it('compares the rate with that 24 hours ago, and calls less than half of it too little', () => {
  const counts = stats({ deliveries: [7, 100, 7, 3] })
  expect(usualOf(counts, recent({ total: 13 }))).toMatchObject({ perHour: 52, dayBefore: 100, isLess: false })
  expect(usualOf(counts, recent({ total: 12 }))).toMatchObject({ perHour: 48, isLess: true })
})

it('leaves to chance what is below 20 deliveries in the time that is known', () => {
  const isLess = (before: number, knownSeconds: number): boolean =>
    usualOf(stats({ deliveries: [7, before, 7, 3] }), recent({ knownSeconds })).isLess
  expect([isLess(79, 900), isLess(80, 900), isLess(239, 300), isLess(240, 300)]).toEqual([false, true, false, true])
})

it('knows the rate from the seconds that are known', () => {
  const counts = stats({ deliveries: [7, 1200, 7, 3] })
  expect(usualOf(counts, recent({ total: 100, knownSeconds: 300 }))).toMatchObject({ perHour: 1200, isLess: false })
  expect(usualOf(counts, recent({ knownSeconds: 0 }))).toMatchObject({ perHour: undefined, isLess: false })
})

it('just after the hour compares with the hour in which most of the last minutes lie', () => {
  const counts = stats({ deliveries: [100, 4000, 7, 3] })
  const dayBefore = (minute: number) => usualOf(counts, recent({ total: 25, minute })).dayBefore
  expect([dayBefore(0), dayBefore(5), dayBefore(15)]).toEqual([100, 1400, 4000])
  expect(usualOf(counts, recent({ total: 25, minute: 0 }))).toMatchObject({ isLess: false })
})

it('says nothing about hours that have not been counted', () => {
  const late = stats({ deliveries: [0, 1000, 1000, 0], countedUntil: NOW - 24 * HOUR, refusals: 1 })
  expect(usualOf(late, recent({}))).toMatchObject({ dayBefore: undefined, isLess: false, isMoreRefused: false })
  // Hours that look empty do not make refusals unusual.
  const some = {
    ...late,
    Periods: late.Periods.map((each, index) => (index > 0 ? each : { ...each, Refusals: { Total: 50 } })),
  }
  expect(usualOf(some, recent({ refusals: 30 }))).toMatchObject({ isMoreRefused: false })
  const none = stats({ countedUntil: NOW - 26 * HOUR })
  expect(usualOf(none, recent({ refusals: 100 }))).toMatchObject({ isMoreRefused: undefined })
})

it('calls refusals usual that are not far above the average hour of the day before', () => {
  const refusals = (average: number, refusalsNow: number) =>
    usualOf(stats({ refusals: average, refusalsNow }), recent({}))
  expect(refusals(0, 5)).toMatchObject({ refusals: 5, isMoreRefused: false })
  expect(refusals(0, 6)).toMatchObject({ isMoreRefused: true })
  expect(refusals(100, 205)).toMatchObject({ isMoreRefused: false })
  expect(refusals(100, 206)).toMatchObject({ isMoreRefused: true })
})

it('sees many refusals of the last minutes also just after the hour', () => {
  const refusals = (average: number, inMinutes: number) =>
    usualOf(stats({ refusals: average, refusalsNow: 1 }), recent({ refusals: inMinutes, minute: 1 }))
  expect(refusals(100, 55)).toMatchObject({ refusals: 220, isMoreRefused: false })
  expect(refusals(100, 56)).toMatchObject({ refusals: 224, isMoreRefused: true })
  // A few are chance.
  expect(refusals(0, 5)).toMatchObject({ isMoreRefused: false })
})

it('a chart is as high as its highest column, unless a few are far above all others', () => {
  expect([[], [0, 0], [3, 1], [10], [0.4], [11, 39]].map(topOf)).toEqual([2, 2, 4, 20, 2, 40])
  const usual = Array.from({ length: 178 }, (_, index) => 5 + (index % 4))
  expect(topOf([...usual, 32, 8])).toBe(40)
  expect(topOf([...usual, 4000, 33])).toBe(20)
  // Where hardly anything comes in, nothing is usual.
  expect(topOf([...Array.from({ length: 178 }, () => 0), 4000, 3])).toBe(4000)
})
