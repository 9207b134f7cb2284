import { expect, it } from 'vitest'
import type { DeliveryStore, WebhookStore } from '#src/store/store.ts'
import type { Sender } from '#src/webhook/send/sender.ts'
import { seriesOf } from '../../support/app/scrape.ts'
import { until } from '../../support/until.ts'
import { addEndpoint, isCaughtUp, pushStage, startPush } from '../../support/webhooks/push.ts'

const START = 1_900_000_000_000
const HOUR = 3_600_000
const SECOND = 1000

/** A clock whose timers ring when the test moves it. */
function virtualTime() {
  let now = 0
  const timers = new Set<{ readonly milliseconds: number; readonly dueAt: number; readonly work: () => void }>()
  return {
    clock: { now: () => START + now, monotonic: () => now },
    after(milliseconds: number, work: () => void) {
      const timer = { milliseconds, dueAt: now + milliseconds, work }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    isSet: (milliseconds: number): boolean => [...timers].some((timer) => timer.milliseconds === milliseconds),
    /** Moves the clock to the next timer, at most by so much. */
    advance(most: number): void {
      const next = [...timers].sort((one, other) => one.dueAt - other.dueAt).find(({ dueAt }) => dueAt <= now + most)
      now = Math.max(now, next?.dueAt ?? now + most)
      if (next !== undefined && timers.delete(next)) next.work()
    },
  }
}

interface Attempt {
  readonly at: number
  readonly failed: boolean
}

/** A store with one endpoint, pushed to in virtual time over connections that are refused while `setAway` says so. */
async function setUp(
  changed: (webhooks: WebhookStore) => Partial<WebhookStore> = () => ({}),
  giveUpMilliseconds: number | null = null,
) {
  const { store, deliver } = await pushStage()
  const time = virtualTime()
  const attempts: Attempt[] = []
  const failure = { status: null, error: 'connection refused', retryAfterMilliseconds: null, gone: false }
  const sender: Sender = {
    async send() {
      const failed = isAway()
      attempts.push({ at: time.clock.monotonic(), failed })
      return {
        ...failure,
        error: failed ? failure.error : null,
        status: failed ? null : 200,
        milliseconds: 1,
        response: null,
      }
    },
    close: async () => undefined,
  }
  const webhooks = { ...store.webhooks, ...changed(store.webhooks) }
  const id = await addEndpoint(store, 'https://shop.example/', { giveUpMilliseconds })
  let looks = 0
  const deliveries: DeliveryStore = {
    ...store.deliveries,
    arrivals(...sent) {
      looks++
      return store.deliveries.arrivals(...sent)
    },
  }
  const push = startPush({ ...store, webhooks, deliveries }, { clock: time.clock, after: time.after, sender })
  const move = (milliseconds: number): void => {
    const end = time.clock.monotonic() + milliseconds
    while (time.clock.monotonic() < end) time.advance(end - time.clock.monotonic())
  }
  const state = { isAway: false }
  const isAway = (): boolean => state.isAway
  const world = {
    setAway(away: boolean): void {
      state.isAway = away
    },
    store,
    id,
    attempts,
    push,
    now: time.clock.monotonic,
    /** How often the store was asked whether something had come in. */
    looks: () => looks,
    deliver: (orderId: string) => deliver({ orderId, receivedAt: time.clock.now() }),
    /** Saves wait for virtual time, too. */
    async caughtUp() {
      await world.pass(SECOND)
      return isCaughtUp(store, id)
    },
    /** Moves the clock without waiting for anything. */
    move,
    /** Lets a time pass, as fast as the store keeps up with the renewals of the lease. */
    async pass(milliseconds: number, step = SECOND): Promise<void> {
      for (let passed = 0; passed < milliseconds; passed += step) {
        // The timer of the next second is set once the lease is renewed.
        while (step === SECOND && !time.isSet(SECOND)) await new Promise(setImmediate)
        move(step)
        // What was asked of the threads of the store before is answered then.
        await Promise.all([store.deliveries.payloads([]), store.webhooks.giveUp('nobody', 'none', 0, 0)])
        await new Promise(setImmediate)
      }
    },
  }
  return world
}

it('catches up by itself with an endpoint that was away for an hour, and its pauses are short again', async () => {
  const world = await setUp()
  const { store, id, attempts, push, now, deliver, pass, caughtUp } = world
  await deliver('first')
  await pass(5 * SECOND)
  await until('it is confirmed', caughtUp)
  world.setAway(true)
  const left = now()
  for (let number = 0; number < 400; number++) await deliver(`order-${number % 150}`)
  await pass(HOUR)
  const during = attempts.filter(({ failed }) => failed)
  // At most 32 at once, then one after each pause.
  expect(during.length).toBeGreaterThan(20)
  expect(during.length).toBeLessThan(70)
  const found = await store.webhooks.find(id)
  expect(found?.failingSince).toBeGreaterThanOrEqual(START + left)
  expect(found?.nextTryAt).toBeLessThanOrEqual(START + now() + 300_000)

  world.setAway(false)
  const back = now()
  while (attempts.at(-1)?.failed) await pass(SECOND)
  // The clock goes on by a step while the store answers.
  await pass(10 * SECOND, 20)
  await until('everything is confirmed', caughtUp)
  const after = attempts.filter(({ failed }) => !failed).slice(1)
  expect(after).toHaveLength(400)
  const [first, last] = [after[0]?.at ?? 0, after.at(-1)?.at ?? 0]
  expect(first - back).toBeLessThanOrEqual(300_000)
  expect(last - first).toBeLessThan(10 * SECOND)

  world.setAway(true)
  await deliver('later')
  await pass(10 * SECOND, 20)
  const later = attempts.filter(({ at }) => at > last)
  expect(later.length).toBeGreaterThanOrEqual(3)
  // The clock goes on by up to a second while the payload is read.
  expect((later[1]?.at ?? 0) - (later[0]?.at ?? 0)).toBeLessThanOrEqual(2200)
  expect(push.log.map(({ message }) => message)).toEqual([
    'a webhook endpoint fails: deliveries wait for it',
    'a webhook endpoint works again',
  ])
}, 120_000)

it('begins no attempt once its lease may have ended, and goes on when the lease is renewed', async () => {
  let goOn: (() => void) | undefined
  const state: { hangs: boolean } = { hangs: false }
  const world = await setUp(({ hold }) => ({
    async hold(...sent) {
      if (state.hangs)
        await new Promise<void>((resolve) => {
          goOn = resolve
        })
      return hold(...sent)
    },
  }))
  const { attempts, push, deliver, pass, move, caughtUp } = world
  await deliver('first')
  await pass(3 * SECOND)
  await until('it is confirmed', caughtUp)
  state.hangs = true
  await until('the renewal hangs', async () => {
    if (goOn === undefined) await pass(SECOND)
    return goOn !== undefined
  })
  await deliver('in time')
  await until('it is sent', () => attempts.length === 2)
  move(5 * SECOND)
  await deliver('too late')
  const pending = async () =>
    seriesOf(await push.metrics.text('text')).get(`teslim_webhook_pending{endpoint="${world.id}"}`)
  await until('it is read', async () => (await pending()) === 1)
  expect(attempts).toHaveLength(2)
  state.hangs = false
  goOn?.()
  await until('it is sent', async () => {
    await pass(SECOND)
    return attempts.length === 3
  })
})

it('sets aside what a silent endpoint did not take when the time to give up is over, and not a second later', async () => {
  const world = await setUp(() => ({}), 60 * SECOND)
  const { store, id, attempts, deliver, pass, caughtUp } = world
  world.setAway(true)
  for (let number = 0; number < 120; number++) await deliver(`order-${number % 90}`)
  await pass(70 * SECOND)
  await until('what failed first is set aside', async () => {
    await pass(SECOND)
    return ((await store.webhooks.find(id))?.setAside ?? 0) > 31
  })
  await pass(400 * SECOND)
  const rows = await store.webhooks.failing(id, 500)
  const setAside = rows.filter((row) => row.setAsideAt !== null)
  expect(setAside.length).toBeGreaterThan(32)
  for (const { setAsideAt, firstFailedAt } of setAside)
    expect((setAsideAt ?? 0) - (firstFailedAt ?? 0)).toBeLessThanOrEqual(62 * SECOND)
  for (const { firstFailedAt } of rows.filter((row) => row.setAsideAt === null))
    expect(START + world.now() - (firstFailedAt ?? 0)).toBeLessThan(62 * SECOND)
  // What was never tried is not given up.
  world.setAway(false)
  while (attempts.at(-1)?.failed) await pass(SECOND)
  await pass(10 * SECOND, 20)
  await until('the rest is confirmed', caughtUp)
  const taken = attempts.filter(({ failed }) => !failed).length
  expect(taken + ((await store.webhooks.find(id))?.setAside ?? 0)).toBe(120)
}, 120_000)

it('reads on without asking whether something came in while deliveries come at a high rate', async () => {
  const world = await setUp()
  const { attempts, deliver, pass, looks, caughtUp } = world
  await deliver('first')
  await pass(3 * SECOND)
  await until('it is confirmed', caughtUp)
  for (let number = 0; number < 40; number++) {
    await deliver(`order-${number}`)
    await pass(1, 1)
  }
  const before = looks()
  for (let number = 0; number < 300; number++) {
    await deliver(`order-${number}`)
    await pass(1, 1)
  }
  expect(looks() - before).toBeLessThan(5)
  await until('it is confirmed', caughtUp)
  expect(attempts).toHaveLength(341)
})
