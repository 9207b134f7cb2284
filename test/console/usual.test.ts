import { expect, it } from 'vitest'

const { usualOf } = await import(new URL('../../src/console/page/parts/now/usual.ts', import.meta.url).href)
const { topOf } = await import(new URL('../../src/console/page/parts/now/scale.ts', import.meta.url).href)

/** Counts by hour, the same hour of the day before first. */
const stats = (deliveries: readonly number[], refusals: readonly number[] = []) => ({
  Periods: deliveries.map((Total, hour) => ({ Deliveries: { Total }, Refusals: { Total: refusals[hour] ?? 0 } })),
})
const day = (first: number, others: number, last: number) => [first, ...Array.from({ length: 23 }, () => others), last]

it('compares the rate with the same hour of the day before, and calls less than half of it too little', () => {
  expect(usualOf(stats(day(100, 7, 3)), 50)).toMatchObject({ perHour: 50, dayBefore: 100, isLess: false })
  expect(usualOf(stats(day(100, 7, 3)), 49)).toMatchObject({ isLess: true })
  // Chance decides about a few.
  expect(usualOf(stats(day(19, 7, 3)), 0)).toMatchObject({ isLess: false })
  expect(usualOf(stats([]), 0)).toMatchObject({ dayBefore: 0, isLess: false, isMoreRefused: false })
})

it('calls refusals usual that are not far above the average hour of the day before', () => {
  const refusals = (average: number, now: number) =>
    usualOf(stats(day(0, 0, 0), [...Array.from({ length: 24 }, () => average), now]), 0)
  expect(refusals(0, 5)).toMatchObject({ refusals: 5, isMoreRefused: false })
  expect(refusals(0, 6)).toMatchObject({ isMoreRefused: true })
  expect(refusals(100, 205)).toMatchObject({ isMoreRefused: false })
  expect(refusals(100, 206)).toMatchObject({ isMoreRefused: true })
})

it('a chart is as high as its highest column, unless a few are far above all others', () => {
  expect([[], [0, 0], [3, 1], [10], [0.4], [11, 39]].map(topOf)).toEqual([2, 2, 4, 20, 2, 40])
  const usual = Array.from({ length: 178 }, (_, index) => 5 + (index % 4))
  expect(topOf([...usual, 32, 8])).toBe(40)
  expect(topOf([...usual, 4000, 33])).toBe(20)
  // Where hardly anything comes in, nothing is usual.
  expect(topOf([...Array.from({ length: 178 }, () => 0), 4000, 3])).toBe(4000)
})
