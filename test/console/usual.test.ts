import { expect, it } from 'vitest'

const { usualOf } = await import(new URL('../../src/console/page/parts/now/usual.ts', import.meta.url).href)

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
