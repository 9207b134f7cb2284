import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LIMITS } from '#src/webhook/push/limits.ts'
import { type Arrival, createWorld, START } from './progress-model.ts'

const SMALL = { window: 8, page: 3, waiting: 6, inFlight: 3 }
const HOUR = 3_600_000
const FAILED = { status: 500, retryAfter: null }

const arrival: fc.Arbitrary<Arrival> = fc.record({
  order: fc.option(fc.integer({ min: 0, max: 4 }), { nil: null }),
  wanted: fc.integer({ min: 0, max: 5 }).map((number) => number > 0),
})

const failure = fc.record({
  status: fc.constantFrom(null, 500, 503, 429, 404),
  retryAfter: fc.constantFrom(null, 0, 2000, 10 * HOUR),
})

type World = ReturnType<typeof createWorld>

const step: fc.Arbitrary<(world: World) => unknown> = fc.oneof(
  { weight: 3, arbitrary: fc.array(arrival, { maxLength: 5 }).map((some) => (world: World) => world.arrive(some)) },
  { weight: 6, arbitrary: fc.constant((world: World) => world.read()) },
  { weight: 12, arbitrary: fc.constant((world: World) => world.send()) },
  {
    weight: 10,
    arbitrary: fc.tuple(fc.nat(5), fc.oneof(fc.constant('none' as const), failure, fc.constant('store' as const))).map(
      ([index, how]) =>
        (world: World) =>
          world.end(index, how),
    ),
  },
  { weight: 3, arbitrary: fc.constant((world: World) => world.makeRoom()) },
  {
    weight: 5,
    arbitrary: fc
      .constantFrom('stored' as const, 'lost' as const, 'stored, but nobody knows' as const)
      .map((outcome) => (world: World) => world.save(outcome)),
  },
  { weight: 2, arbitrary: fc.constant((world: World) => world.restart()) },
  { weight: 4, arbitrary: fc.constantFrom(1, 900, 5000, HOUR).map((time) => (world: World) => world.advance(time)) },
)

describe('pushing to an endpoint', () => {
  it.each([
    ['small limits', SMALL, null],
    ['small limits, giving up', SMALL, 5000],
    ['the real limits', LIMITS, null],
  ] as const)('skips nothing and keeps each order in order, whatever happens (%s)', (_name, limits, giveUp) => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 150 }), (steps) => {
        const world = createWorld(limits, giveUp)
        for (const run of steps) run(world)
        world.heal()
        world.save('stored')
        world.restart()
        expect(world.progress().pending()).toBe(0)
        expect([...world.stored.waiting.values()].filter(({ setAsideAt }) => setAsideAt === null)).toEqual([])
        if (giveUp === null) expect(world.setAside.size).toBe(0)
      }),
      { numRuns: 400 },
    )
  })

  /** A world with so many deliveries of different orders, read. */
  const worldWith = (count: number, giveUp: number | null = null) => {
    const world = createWorld(LIMITS, giveUp)
    world.arrive(Array.from({ length: count }, (_, order) => ({ order, wanted: true })))
    world.read()
    return world
  }
  const sendAll = (world: World): number => {
    const before = world.inFlight()
    while (world.send());
    return world.inFlight() - before
  }
  const endAll = (world: World, how: Parameters<World['end']>[1]): void => {
    while (world.end(0, how));
  }

  it('keeps an order in order after a restart, some of which was read while everything failed', () => {
    const world = createWorld(LIMITS, null)
    const arrive = (...orders: number[]) => {
      world.arrive(orders.map((order) => ({ order, wanted: true })))
      world.read()
    }
    arrive(1, 2, 3, 4, 5, 6, 7, 8, 0)
    sendAll(world)
    endAll(world, FAILED)
    arrive(0)
    world.advance(HOUR)
    world.send()
    world.end(0, 'none')
    expect(world.progress().inTrouble()).toBe(false)
    arrive(0)
    world.save('stored')
    world.restart()
    world.advance(HOUR)
    while (world.send()) world.end(0, 'none')
    world.heal()
  })
  /** Moves the clock to the next attempt; returns how long that took. */
  const toNext = (world: World): number => {
    const wait = (world.progress().nextAt() ?? Number.NaN) - world.now()
    world.advance(Math.max(0, wait))
    return wait
  }

  it('sends 32 at once, and after eight failures one at a time, after pauses that double from one second to five minutes', () => {
    const world = worldWith(200)
    expect(sendAll(world)).toBe(32)
    endAll(world, FAILED)
    const pauses: number[] = []
    for (let trial = 0; trial < 12; trial++) {
      pauses.push(toNext(world))
      expect(sendAll(world)).toBe(1)
      world.end(0, FAILED)
    }
    for (const [index, pause] of pauses.entries()) {
      const wanted = Math.min(1000 * 2 ** index, 300_000)
      expect(pause).toBeGreaterThanOrEqual(Math.max(1000, wanted * 0.8 - 1))
      expect(pause).toBeLessThanOrEqual(Math.min(300_000, wanted * 1.2 + 1))
    }
  })

  it('catches up once the endpoint is back: everything is due within a second, and pauses are short again', () => {
    const world = worldWith(200)
    sendAll(world)
    while (world.now() < HOUR) {
      endAll(world, FAILED)
      toNext(world)
      expect(sendAll(world)).toBe(1)
    }
    const back = world.now()
    world.end(0, 'none')
    expect(sendAll(world)).toBeGreaterThan(1)
    let tried = 0
    while (!world.isComplete()) {
      tried++
      if (tried === 5) {
        world.end(0, FAILED)
        const row = world.progress().takeSave({ wall: START + world.now(), monotonic: world.now() }, true)
        const failed = row?.waiting.filter(({ failures, nextAt }) => failures > 1 && nextAt !== null).at(-1)
        expect((failed?.nextAt ?? 0) - START - world.now()).toBeLessThanOrEqual(1200)
      }
      endAll(world, 'none')
      if (sendAll(world) === 0 && !world.isComplete()) toNext(world)
    }
    expect(world.now() - back).toBeLessThan(4000)
  })

  it('does not let fewer than eight poisoned orders hold up others', () => {
    const world = worldWith(7)
    sendAll(world)
    endAll(world, FAILED)
    for (let round = 0; round < 50; round++) {
      toNext(world)
      sendAll(world)
      endAll(world, FAILED)
    }
    expect(world.progress().inTrouble()).toBe(false)
    world.arrive(Array.from({ length: 20 }, (_, index) => ({ order: 100 + index, wanted: true })))
    world.read()
    expect(sendAll(world)).toBe(20)
  })

  it('lets up to an hour pass between two attempts of one delivery, and never less than a second', () => {
    const world = worldWith(1)
    sendAll(world)
    const pauses = Array.from({ length: 16 }, () => {
      world.end(0, FAILED)
      const pause = toNext(world)
      expect(sendAll(world)).toBe(1)
      return pause
    })
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(1000)
    expect(pauses[0]).toBeLessThanOrEqual(1200)
    expect(pauses.at(-1)).toBeGreaterThanOrEqual(0.8 * HOUR)
    expect(Math.max(...pauses)).toBeLessThanOrEqual(HOUR)
    for (const [index, pause] of pauses.entries()) {
      expect(pause).toBeLessThanOrEqual(1200 * 2 ** index)
    }
  })

  it('waits as long as the endpoint asks: for all deliveries after 429 and 503, else for one', () => {
    for (const [status, others] of [
      [503, 0],
      [429, 0],
      [500, 4],
    ] as const) {
      const world = worldWith(5)
      world.send()
      world.end(0, { status, retryAfter: 20_000 })
      expect(sendAll(world)).toBe(others)
      endAll(world, 'none')
      expect(toNext(world)).toBe(20_000)
      expect(sendAll(world)).toBe(5 - others)
    }
    const world = worldWith(1)
    world.send()
    world.end(0, { status: 503, retryAfter: 100 * HOUR })
    expect(toNext(world)).toBe(HOUR)
  })

  it('sets a delivery aside at the first failure after the time to give up, and goes on with its order', () => {
    const world = createWorld(LIMITS, HOUR)
    world.arrive([
      { order: 1, wanted: true },
      { order: 1, wanted: true },
    ])
    world.read()
    while (world.setAside.size === 0) {
      sendAll(world)
      expect(world.inFlight()).toBe(1)
      world.end(0, FAILED)
      if (world.setAside.size === 0) toNext(world)
    }
    expect(world.now()).toBeGreaterThan(HOUR)
    expect([...world.setAside]).toEqual([1])
    expect(sendAll(world)).toBe(1)
    world.end(0, 'none')
    world.save('stored')
    expect(world.stored.place.position).toBe(2)
    expect([...world.stored.waiting.values()]).toEqual([
      expect.objectContaining({ position: 1, setAsideAt: expect.any(Number) }),
    ])
    world.restart()
    expect(world.progress().pending()).toBe(0)
  })

  it('reads on past deliveries that take long, and past an order with a long queue', () => {
    const world = createWorld(LIMITS, null)
    world.arrive([{ order: 0, wanted: true }, ...Array.from({ length: 300 }, () => ({ order: 1, wanted: true }))])
    world.arrive(Array.from({ length: 900 }, (_, index) => ({ order: 2 + index, wanted: true })))
    world.read()
    // The first one hangs; the order with the queue is slow.
    expect(sendAll(world)).toBe(2)
    for (let rounds = 0; rounds < 200; rounds++) {
      world.makeRoom()
      world.read()
      sendAll(world)
      while (world.inFlight() > 2) world.end(2, 'none')
    }
    world.save('stored')
    expect(world.stored.place.position).toBeGreaterThan(900)
    expect(world.stored.waiting.get(1)).toMatchObject({ failures: 0, nextAt: null })
    world.restart()
    world.heal()
  })

  it('stops reading with ten thousand deliveries that wait, and reads on when some are confirmed', () => {
    const world = createWorld(LIMITS, null)
    world.arrive(Array.from({ length: 12_000 }, () => ({ order: 1, wanted: true })))
    world.arrive([{ order: 2, wanted: true }])
    sendAll(world)
    for (let rounds = 0; rounds < 100; rounds++) {
      world.read()
      sendAll(world)
      world.makeRoom()
    }
    expect(world.progress().wantsMore()).toBe(false)
    expect(world.progress().waiting()).toBeGreaterThanOrEqual(10_000)
    expect(world.progress().waiting()).toBeLessThan(10_600)
    for (let rounds = 0; rounds < 800; rounds++) {
      world.end(0, 'none')
      sendAll(world)
    }
    expect(world.progress().wantsMore()).toBe(true)
  })

  it('stores a place that moved over nothing but what is left out only every five seconds', () => {
    const world = createWorld(LIMITS, null)
    const take = () => world.progress().takeSave({ wall: START + world.now(), monotonic: world.now() })
    world.advance(6000)
    world.arrive([{ order: null, wanted: false }])
    world.read()
    expect(take()).toMatchObject({ place: { position: 1 }, confirmed: [], waiting: [] })
    world.arrive([{ order: null, wanted: false }])
    world.read()
    expect(take()).toBeUndefined()
    world.advance(4999)
    expect(take()).toBeUndefined()
    world.advance(1)
    expect(take()).toMatchObject({ place: { position: 2 } })
    world.advance(60_000)
    expect(take()).toBeUndefined()
  })
})
