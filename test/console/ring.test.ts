import { describe, expect, it } from 'vitest'

interface Second {
  readonly known: boolean
  readonly byStatus: readonly number[]
  readonly duplicates: number
  readonly refusals: Readonly<Record<string, number>>
}

interface Ring {
  now(): number | undefined
  add(frame: object): void
  read(second: number): Second
  clear(): void
  refusedSince(): number | undefined
}

const file = new URL('../../src/console/page/lib/ring.ts', import.meta.url).href
const { createRing } = (await import(file)) as { createRing: (size?: number) => Ring }

const START = 1_800_000_000

/** A frame at a second, with counts of Status 2 by second. */
const frame = (at: number, counts: Record<number, number> = {}, more: object = {}) => ({
  At: new Date((START + at) * 1000 + 300).toISOString(),
  Seconds: Object.entries(counts).map(([second, count]) => ({
    At: START + Number(second),
    ByStatus: [0, 0, count, 0],
    Duplicates: 0,
  })),
  StoreUp: true,
  ...more,
})

describe('the counts of the last minutes', () => {
  const countsOf = (ring: Ring, from: number, to: number): (number | undefined)[] =>
    Array.from({ length: to - from + 1 }, (_, index) => {
      const { known, byStatus } = ring.read(START + from + index)
      return known ? byStatus[2] : undefined
    })

  it('add up the frames, also for a second that has passed', () => {
    const ring = createRing(10)
    ring.add(frame(10, { 5: 2, 10: 1 }, { Since: START + 1 }))
    ring.add(frame(11, { 10: 3, 11: 4 }))
    expect(countsOf(ring, 2, 11)).toEqual([0, 0, 0, 2, 0, 0, 0, 0, 4, 4])
  })

  it('replace what a frame with Since counts again, so that nothing counts twice', () => {
    const ring = createRing(10)
    ring.add(frame(10, { 4: 1, 8: 2 }, { Since: START + 1 }))
    ring.add(frame(12, { 8: 5, 11: 1 }, { Since: START + 6 }))
    expect(countsOf(ring, 3, 12)).toEqual([0, 1, 0, 0, 0, 5, 0, 0, 1, 0])
  })

  it('tell seconds that nobody has counted from seconds without deliveries', () => {
    const ring = createRing(10)
    ring.add(frame(10, {}, { Since: START + 8 }))
    expect(countsOf(ring, 6, 10)).toEqual([undefined, undefined, 0, 0, 0])
    ring.add(frame(16, { 15: 1 }, { Since: START + 14 }))
    expect(countsOf(ring, 8, 16)).toEqual([0, 0, 0, undefined, undefined, undefined, 0, 1, 0])
  })

  it('are unknown while the store cannot be read, and are filled in afterwards', () => {
    const ring = createRing(10)
    ring.add(frame(10, {}, { Since: START + 1 }))
    ring.add(frame(11, {}, { StoreUp: false }))
    ring.add(frame(12, {}, { StoreUp: false }))
    expect(countsOf(ring, 10, 12)).toEqual([0, undefined, undefined])
    ring.add(frame(13, { 11: 7 }))
    expect(countsOf(ring, 10, 13)).toEqual([0, 7, 0, 0])
  })

  it('are filled in by the first frame after a pause', () => {
    const ring = createRing(10)
    ring.add(frame(10, { 10: 1 }, { Since: START + 1 }))
    ring.add(frame(15, { 10: 1, 12: 2 }))
    expect(countsOf(ring, 9, 15)).toEqual([0, 2, 0, 2, 0, 0, 0])
  })

  it('forget what is older, and never show an old second as a new one', () => {
    const ring = createRing(10)
    ring.add(frame(10, { 1: 9, 3: 2 }, { Since: START + 1 }))
    ring.add(frame(12, { 2: 5 }))
    expect(countsOf(ring, 1, 3)).toEqual([undefined, undefined, 2])
    ring.add(frame(500))
    expect(countsOf(ring, 490, 500)).toEqual([undefined, ...Array.from({ length: 10 }, () => 0)])
  })

  it('count a delivery whose time is ahead of the frame in its second', () => {
    const ring = createRing(10)
    ring.add(frame(10, { 14: 3 }, { Since: START + 1 }))
    expect(countsOf(ring, 9, 10)).toEqual([0, 3])
    ring.add(frame(14))
    expect(countsOf(ring, 10, 14)).toEqual([3, 0, 0, 0, 0])
  })

  it('can be cleared', () => {
    const ring = createRing(10)
    ring.add(frame(10, { 9: 1 }, { Since: START + 1 }))
    ring.clear()
    expect(ring.now()).toBeUndefined()
    ring.add(frame(10, {}, { Since: START + 10 }))
    expect(countsOf(ring, 8, 10)).toEqual([undefined, undefined, 0])
  })

  it('contain refusals, which a frame with Since replaces, and say since when', () => {
    const ring = createRing(10)
    const refused = (at: number, Refusals: object) => ({
      Seconds: [{ At: START + at, ByStatus: [0, 0, 0, 0], Duplicates: 0, Refusals }],
    })
    ring.add(frame(10, {}, { Since: START + 1, RefusedSince: START + 3, ...refused(8, { A: 2 }) }))
    ring.add(frame(11, {}, refused(8, { A: 1, B: 1 })))
    expect([ring.read(START + 8).refusals, ring.refusedSince()]).toEqual([{ A: 3, B: 1 }, START + 3])
    ring.add(frame(12, {}, { Since: START + 6, RefusedSince: START + 6, ...refused(8, { A: 4 }) }))
    expect([ring.read(START + 8).refusals, ring.refusedSince()]).toEqual([{ A: 4 }, START + 6])
    // Refusals may be complete from an earlier second on than deliveries, or from a later one.
    ring.add(frame(12, { 8: 5 }))
    ring.add(frame(12, {}, { Since: START + 10, RefusedSince: START + 6, ...refused(8, { A: 4 }) }))
    expect(ring.read(START + 8)).toMatchObject({ refusals: { A: 4 }, byStatus: [0, 0, 5, 0] })
    ring.add(frame(12, {}, { Since: START + 6, RefusedSince: START + 9 }))
    expect(ring.read(START + 8)).toMatchObject({ refusals: { A: 4 }, byStatus: [0, 0, 0, 0] })
  })
})
