import { expect, it } from 'vitest'
import { atTheEnd } from '../../support/at-the-end.ts'
import { until } from '../../support/until.ts'
import { pushInVirtualTime, SECOND, START } from '../../support/webhooks/virtual-push.ts'

it('stores what was confirmed within 15 ms, or within 15 ms after the save that was under way', async () => {
  const saves: { readonly began: number; ended: number; readonly positions: readonly number[] }[] = []
  let hangs: Promise<void> | undefined
  const world = await pushInVirtualTime(({ save }) => ({
    async save(holder, all, at) {
      const positions = all.flatMap(({ confirmed }) => confirmed.map(({ position }) => position))
      const own = { began: at - START, ended: Number.POSITIVE_INFINITY, positions }
      saves.push(own)
      await hangs
      const stored = await save(holder, all, at)
      own.ended = now()
      return stored
    },
  }))
  const { attempts, deliver, pass, now, caughtUp } = world
  /** Of each delivery, in their order. */
  const delays = () =>
    attempts.map(({ at: confirmed }, index) => {
      const own = saves.find(({ positions }) => positions.includes(index + 1))
      if (own === undefined) return Number.POSITIVE_INFINITY
      const underWay = saves.filter(({ began, ended }) => began <= confirmed && ended >= confirmed)
      const from = Math.max(confirmed, ...underWay.filter((each) => each !== own).map(({ ended }) => ended))
      return own.began - from
    })
  const confirm = async (orderId: string) => {
    const before = attempts.length
    await deliver(orderId)
    while (attempts.length === before) await pass(1, 1)
  }
  await deliver('first')
  await pass(3 * SECOND)
  await until('it is confirmed', caughtUp)

  await confirm('alone')
  await pass(15, 1)
  expect(delays()[1]).toBeLessThanOrEqual(15)

  const before = saves.length
  for (let number = 0; number < 40; number++) await confirm(`order-${number}`)
  // Together, not each by itself.
  expect(saves.length - before).toBeLessThan(40)
  await until('all is saved', async () => {
    await pass(1, 1)
    return delays().every(Number.isFinite) && saves.every(({ ended }) => Number.isFinite(ended))
  })
  const { promise, resolve: goOn } = Promise.withResolvers<void>()
  atTheEnd(goOn)
  hangs = promise
  await confirm('whose save hangs')
  await pass(100, 1)
  await confirm('meanwhile')
  await pass(100, 1)
  expect(delays()[42]).toBeLessThanOrEqual(15)
  expect(delays()[43]).toBe(Number.POSITIVE_INFINITY)
  goOn()
  await until('the next save has begun', async () => {
    await pass(1, 1)
    return saves.some(({ positions }) => positions.includes(44))
  })
  expect(delays()).toHaveLength(44)
  expect(Math.max(...delays().slice(1))).toBeLessThanOrEqual(15)
})
