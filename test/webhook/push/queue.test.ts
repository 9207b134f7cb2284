import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LIMITS } from '#src/webhook/push/lanes.ts'
import { runs } from '../../support/random-runs.ts'
import { type Arrival, createWorld, failure } from './queue-model.ts'

const SMALL = { window: 8, page: 3, bytes: 45, inFlight: 3, retries: 1, mostRetries: 2, lanes: 2, asked: 4 }
const HOUR = 3_600_000

const arrival: fc.Arbitrary<Arrival> = fc.record({
  order: fc.option(fc.integer({ min: 0, max: 4 }), { nil: null }),
  wanted: fc.integer({ min: 0, max: 5 }).map((number) => number > 0),
})

const outcome = fc.oneof(
  fc.constantFrom('taken' as const, 'no payload' as const),
  fc
    .tuple(fc.constantFrom(null, 500, 503, 429, 404, 422), fc.constantFrom(null, 0, 2000, 10 * HOUR))
    .map((how) => failure(...how)),
)

type World = ReturnType<typeof createWorld>
type Name = Exclude<keyof World, 'stored' | 'setAside'>
type Step = { [Each in Name]: readonly [Each, ...Parameters<World[Each]>] }[Name]

const outcomeOfSave = fc.constantFrom('stored' as const, 'stored' as const, 'lost' as const, 'unknown' as const)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(fc.constant('arrive' as const), fc.array(arrival, { maxLength: 5 })) },
  { weight: 12, arbitrary: fc.constant(['ask'] as const) },
  { weight: 12, arbitrary: fc.constant(['send'] as const) },
  { weight: 10, arbitrary: fc.tuple(fc.constant('end' as const), fc.nat(5), outcome) },
  { weight: 3, arbitrary: fc.constant(['makeRoom'] as const) },
  { weight: 2, arbitrary: fc.constant(['giveUp'] as const) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('beginSave' as const), fc.boolean()) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('endSave' as const), outcomeOfSave) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('replay' as const), fc.nat(3), fc.boolean()) },
  { weight: 1, arbitrary: fc.constant(['replaySetAside'] as const) },
  { weight: 2, arbitrary: fc.constant(['restart'] as const) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('advance' as const), fc.constantFrom(1, 900, 5000, HOUR)) },
)
const run = (world: World, [name, ...sent]: Step): unknown => (world[name] as (...sent: unknown[]) => unknown)(...sent)

describe('pushing to an endpoint', () => {
  it.each([
    ['small limits', SMALL, null],
    ['small limits, giving up', SMALL, 20_000],
    ['the real limits', LIMITS, null],
  ] as const)('skips nothing and keeps each order in order, whatever happens (%s)', (_name, limits, giveUp) => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 200 }), (steps) => {
        const world = createWorld(limits, giveUp)
        for (const each of steps) run(world, each)
        world.heal()
        world.restart()
        world.heal()
        if (giveUp === null) expect(world.setAside.size).toBe(0)
      }),
      { numRuns: runs(200) },
    )
  })

  it('undoes no replay by a save that is repeated because its answer was lost', () => {
    const world = createWorld(LIMITS, null)
    world.arrive([{ order: 1, wanted: true }])
    while (world.ask());
    world.send()
    world.end(0, failure(500))
    world.beginSave(false)
    world.endSave('stored')
    world.advance(5000)
    while (world.ask());
    world.send()
    world.end(0, 'taken')
    world.beginSave(true)
    world.endSave('unknown')
    expect(world.stored.rows.size).toBe(0)
    world.replay(1, false)
    world.beginSave(false)
    world.endSave('stored')
    expect([...world.stored.rows.keys()]).toEqual([1])
    world.heal()
  })

  it.each([
    ['is silent', 'is taken', () => 'taken' as const],
    ['was silent before a restart', 'is refused', () => failure(404)],
  ])('tries an endpoint that %s with one request, and all of it once that %s', (silent, _answer, answer) => {
    const world = createWorld(LIMITS, null)
    const sendAll = () => {
      let sent = 0
      while (world.send()) sent++
      return sent
    }
    world.arrive(Array.from({ length: 40 }, (_, order) => ({ order, wanted: true })))
    while (world.ask());
    expect(sendAll()).toBe(32)
    for (let ended = 0; ended < 32; ended++) world.end(0, failure(null))
    world.beginSave(false)
    world.endSave('stored')
    if (silent === 'is silent') world.advance(1200)
    else world.restart()
    while (world.ask());
    expect(sendAll()).toBe(1)
    world.end(0, failure(null))
    while (world.ask());
    expect(sendAll()).toBe(0)
    world.advance(3000)
    expect(sendAll()).toBe(1)
    world.end(0, answer())
    while (world.ask());
    expect(sendAll()).toBeGreaterThan(1)
    while (world.inFlight() > 0) world.end(0, 'taken')
    world.heal()
  })

  it('takes no answer and the six statuses of proxies for silence, and every other status for an answer', () => {
    const silent = [null, 408, 425, 429, 502, 503, 504]
    for (const status of [null, ...Array.from({ length: 300 }, (_, index) => 300 + index)]) {
      const world = createWorld(LIMITS, null)
      world.arrive(Array.from({ length: 40 }, (_, order) => ({ order, wanted: true })))
      while (world.ask());
      while (world.send());
      while (world.end(0, failure(status)));
      world.beginSave(false)
      world.endSave('stored')
      const isSilent = silent.includes(status)
      expect([status, world.stored.silentUntil !== null]).toEqual([status, isSilent])
      for (const { answered } of world.stored.rows.values()) expect([status, answered]).toEqual([status, !isSilent])
      world.advance(1300)
      while (world.ask());
      while (world.send());
      expect([status, world.inFlight()]).toEqual([status, isSilent ? 1 : 32])
    }
  })

  it('tries an endpoint that fell silent with something new: what it did not answer may be what silences it', () => {
    const world = createWorld(LIMITS, null)
    const arrive = (first: number) =>
      world.arrive(Array.from({ length: 40 }, (_, index) => ({ order: first + index, wanted: true })))
    const sendAll = () => {
      while (world.ask());
      while (world.send());
    }
    arrive(0)
    for (sendAll(); world.inFlight() > 0; sendAll()) while (world.end(0, failure(500)));
    world.beginSave(false)
    world.endSave('stored')
    world.advance(2000)
    while (world.ask());
    arrive(100)
    sendAll()
    while (world.end(0, failure(null)));
    world.advance(1300)
    sendAll()
    expect(world.underWay()).toEqual([65])
    world.end(0, 'taken')
    world.heal()
  })

  it('gives deliveries that failed 8 of its 32 requests while others wait, and 24 while none does', () => {
    const world = createWorld(LIMITS, null)
    const sendAll = () => {
      while (world.ask());
      while (world.send());
      return world.inFlight()
    }
    const arrive = (first: number) =>
      world.arrive(Array.from({ length: 60 }, (_, index) => ({ order: first + index, wanted: true })))
    const failed = () => world.underWay().filter((position) => position <= 60).length
    const save = () => {
      world.beginSave(false)
      world.endSave('stored')
    }
    arrive(0)
    while (sendAll() > 0) while (world.end(0, failure(500)));
    save()
    world.advance(3000)
    expect(sendAll()).toBe(24)
    arrive(100)
    expect([sendAll(), failed()]).toEqual([32, 24])
    while (failed() > 0) world.end(0, failure(500))
    save()
    expect([sendAll(), failed()]).toEqual([32, 8])
    // Requests of the others that end make room for others only.
    for (let ended = 0; ended < 24; ended++) world.end(0, 'taken')
    expect([sendAll(), failed()]).toEqual([32, 8])
    while (world.inFlight() > 0) world.end(0, 'taken')
    world.heal()
  })

  it.each([
    ['taken', () => 'taken' as const],
    ['refused', () => failure(404)],
  ])('sends everything that a silent endpoint did not answer within a second of the first that is %s', (_, answer) => {
    const world = createWorld(LIMITS, null)
    world.arrive(Array.from({ length: 8 }, (_, order) => ({ order, wanted: true })))
    while (world.ask());
    while (world.send());
    world.end(0, failure(null))
    while (world.end(0, failure(502, HOUR)));
    world.beginSave(false)
    world.endSave('stored')
    world.advance(1300)
    while (world.ask());
    while (world.send());
    expect(world.underWay()).toEqual([1])
    world.end(0, answer())
    world.beginSave(false)
    world.endSave('stored')
    const others = [...world.stored.rows.values()].filter(({ position }) => position > 1)
    expect(others).toHaveLength(7)
    for (const { nextAt } of others) expect((nextAt ?? 0) - world.wall()).toBeLessThanOrEqual(1001)
    world.heal()
  })

  it.each([429, 503])(
    'sends nothing before the time that Retry-After of %i names, neither what failed nor what is new',
    (status) => {
      const world = createWorld(LIMITS, null)
      world.arrive([1, 2].map((order) => ({ order, wanted: true })))
      while (world.ask());
      world.send()
      world.end(0, failure(status, 3000))
      for (const milliseconds of [0, 2999]) {
        world.advance(milliseconds)
        world.beginSave(false)
        world.endSave('stored')
        while (world.ask());
        expect(world.send()).toBe(false)
      }
      world.advance(1)
      while (world.ask());
      expect([world.send(), world.send()]).toEqual([true, true])
      world.heal()
    },
  )

  it('holds back only the delivery to which another status says Retry-After', () => {
    const world = createWorld(LIMITS, null)
    world.arrive([1, 2].map((order) => ({ order, wanted: true })))
    while (world.ask());
    world.send()
    world.end(0, failure(500, 3000))
    world.beginSave(false)
    world.endSave('stored')
    while (world.ask());
    expect([world.send(), world.send()]).toEqual([true, false])
    expect(world.underWay()).toEqual([2])
    world.end(0, 'taken')
    world.advance(2999)
    while (world.ask());
    expect(world.send()).toBe(false)
    world.heal()
  })

  it('tries what waits within seconds after the clock was set back by years', () => {
    const world = createWorld(LIMITS, null)
    world.arrive([{ order: 1, wanted: true }])
    while (world.ask());
    world.send()
    world.end(0, failure(500))
    world.beginSave(false)
    world.endSave('stored')
    while (world.ask());
    world.setClock(-3 * 365 * 24 * HOUR)
    for (let seconds = 0; seconds < 20; seconds++) {
      world.advance(1000)
      while (world.ask());
    }
    expect(world.send()).toBe(true)
    world.end(0, 'taken')
    world.heal()
  })

  it('is paused by one 410 only: an operator may have resumed the endpoint before the other attempts end', () => {
    const world = createWorld(LIMITS, null)
    world.arrive([1, 2].map((order) => ({ order, wanted: true })))
    while (world.ask());
    while (world.send());
    const gone = { ...failure(410), gone: true }
    world.end(0, gone)
    expect(world.beginSave(false)?.stored.gone).toBe(world.stored.version)
    world.endSave('stored')
    world.end(0, gone)
    expect(world.beginSave(false)?.stored).toMatchObject({ gone: null, kept: [{ position: 2 }] })
  })
})
