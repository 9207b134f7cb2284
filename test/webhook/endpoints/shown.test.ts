import { expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { systemRandom } from '#src/lib/random.ts'
import { openStore } from '#src/store/open-store.ts'
import { shownAnswer } from '#src/webhook/endpoints/answers.ts'
import { openEndpoints } from '#src/webhook/endpoints/open-endpoints.ts'
import { atTheEnd } from '../../support/at-the-end.ts'
import { customer, delivery, webhook } from '../../support/store-rows.ts'
import { storesOfRun } from '../../support/stores.ts'
import { TestClock } from '../../support/test-app.ts'

const iso = (milliseconds: number) => new Date(milliseconds).toISOString()

it.each(storesOfRun())('what fails and what is set aside is shown, and how old it is, on %s', async (_, emptyStore) => {
  const { config } = loadConfig(await emptyStore())
  const { store } = await openStore(config, 0)
  atTheEnd(() => store.close())
  const clock = new TestClock()
  const { endpoints } = openEndpoints({ store, config, proxyVariables: {}, clock, random: systemRandom })
  const one = customer()
  await store.customers.insert(one)
  const now = clock.now()
  const made = [-9000, -7000, -5000, -3000].map((ago) => delivery(one.id, { receivedAt: now + ago }))
  for (const each of made) await store.deliveries.deliver(each)
  const [first, second] = made.map(({ receiptId }) => receiptId)
  const positions = await Promise.all(
    made.map(async ({ receiptId }) => (await store.deliveries.findByReceipt(receiptId))?.position ?? 0),
  )
  const [oldest = 0, two = 0, three = 0] = positions
  const place = { position: three, generation: 0 }
  const { id } = webhook()
  await store.webhooks.add(webhook({ id, place }))
  expect(await endpoints.show(id)).toMatchObject({ endpoint: { pending: 1, behindMilliseconds: 3000 } })
  expect(await store.webhooks.claim('me', 60_000, 10)).toEqual([id])
  const failed = { failures: 3, firstFailedAt: 5, lastError: 'status 500' }
  const saved = await store.webhooks.save(
    'me',
    [
      {
        id,
        epoch: (await store.webhooks.find(id))?.epoch ?? 0,
        place,
        confirmed: [],
        waiting: [
          { ...failed, position: oldest, nextAt: null, setAsideAt: 7 },
          { ...failed, position: two, nextAt: 9, setAsideAt: null },
          { position: three, failures: 0, firstFailedAt: null, nextAt: null, setAsideAt: null, lastError: null },
        ],
        settled: [],
        attempts: [],
        minutes: [],
        lastSuccessAt: 4,
        failingSince: 5,
        nextTryAt: 9,
        gone: false,
      },
    ],
    now,
  )
  expect(saved).toEqual([id])
  const row = { Failures: 3, FirstFailedAt: iso(5), Error: 'status 500' }
  expect(shownAnswer(await endpoints.show(id))).toMatchObject({
    Endpoint: {
      Pending: 3,
      Waiting: 2,
      SetAside: 1,
      FailingSince: iso(5),
      NextTryAt: iso(9),
      LastSuccessAt: iso(4),
      BehindSeconds: 7,
    },
    Failing: [{ ...row, ReceiptID: second, NextTryAt: iso(9) }],
    SetAside: [{ ...row, ReceiptID: first, SetAsideAt: iso(7) }],
  })
  const replayed = await endpoints.replay(id, 'set-aside')
  expect([replayed.deliveries, replayed.endpoint.webhook.setAside]).toEqual([1, 0])
})
