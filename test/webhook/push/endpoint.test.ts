import { expect, it } from 'vitest'
import { systemClock } from '#src/lib/clock.ts'
import { createEndpoint, type EndpointDependencies } from '#src/webhook/push/endpoint.ts'
import { openTestStore } from '../../support/store/test-store.ts'
import { addEndpoint } from '../../support/webhooks/push.ts'
import { LONG, save, waiting } from '../../support/webhooks/webhook-rows.ts'

it('an endpoint that is stopped sets nothing aside: an operator may have changed how long it is patient', async () => {
  const store = await openTestStore()
  const id = await addEndpoint(store, 'https://shop.example/', { giveUpMilliseconds: 1 })
  await store.webhooks.hold('holder', LONG, 1)
  await store.webhooks.save('holder', [save(id, { kept: [waiting(1)] })], 0)
  const loaded = await store.webhooks.load(id)
  if (loaded === undefined) throw new Error('it is there')
  const givenUp: Promise<number>[] = []
  const giveUp: typeof store.webhooks.giveUp = (...sent) => {
    givenUp.push(store.webhooks.giveUp(...sent))
    return Promise.resolve(0)
  }
  const dependencies = {
    clock: systemClock,
    holder: 'holder',
    webhooks: { ...store.webhooks, giveUp, due: () => new Promise(() => undefined) },
    after: () => () => undefined,
    canSave: () => true,
    onChange: () => undefined,
    arrivals: {},
    payloads: { hasRoom: () => true },
  } as unknown as EndpointDependencies
  const begin = () => createEndpoint(loaded, { signing: () => [], headers: {} }, dependencies)

  const stopped = begin()
  await stopped.stop()
  stopped.tick()
  expect(givenUp).toEqual([])
  begin().tick()
  expect(await Promise.all(givenUp)).toEqual([1])
})
