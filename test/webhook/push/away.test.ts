import { expect, it } from 'vitest'
import { seriesOf } from '../../support/app/scrape.ts'
import { until } from '../../support/until.ts'
import { pushInVirtualTime, SECOND, START } from '../../support/webhooks/virtual-push.ts'

const HOUR = 3_600_000

it('catches up by itself with an endpoint that was away for an hour, and its pauses are short again', async () => {
  const world = await pushInVirtualTime()
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
  const world = await pushInVirtualTime(({ hold }) => ({
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
  const world = await pushInVirtualTime(() => ({}), 60 * SECOND)
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
  const world = await pushInVirtualTime()
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
