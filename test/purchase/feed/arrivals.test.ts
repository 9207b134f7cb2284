import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Arrivals, createArrivals } from '#src/purchase/feed/arrivals.ts'
import { newPostgresStore } from '../../support/postgres/postgres-session.ts'
import { customer, delivery } from '../../support/store/store-rows.ts'
import { openTestStore } from '../../support/store/test-store.ts'

const databaseUrl = await newPostgresStore()
const [here, there] = [await openTestStore(databaseUrl), await openTestStore(databaseUrl)]
const [one, other] = [customer(), customer()]
for (const each of [one, other]) await here.customers.insert(each)
const failures: unknown[] = []
let arrivals: Arrivals
// One for each test: it may still look for deliveries of the test before, and wakes followers for them.
beforeEach(() => {
  arrivals = createArrivals(here.deliveries, (error) => failures.push(error))
})
afterEach(() => {
  arrivals.close()
  expect(failures).toEqual([])
})
const end = async (): Promise<number> => (await here.deliveries.arrivals(0)).position

it('a commit in another process wakes a follower, which skips what is not for it', async () => {
  const start = await end()
  const [mine, everything] = [arrivals.wait(one.id, start), arrivals.wait(null, start)]
  await there.deliveries.deliver(delivery(other.id))
  expect(await everything.over).toBe(start)
  await there.deliveries.deliver(delivery(one.id))
  expect(await mine.over).toBe(start + 1)
})

it('a follower that ends its wait learns how far it may skip', async () => {
  const start = await end()
  const mine = arrivals.wait(one.id, start)
  const everything = arrivals.wait(null, start)
  await there.deliveries.deliver(delivery(other.id))
  await everything.over
  mine.end()
  expect(await mine.over).toBe(start + 1)
})

it('a follower that is behind the others does not wait', async () => {
  const everything = arrivals.wait(null, await end())
  await there.deliveries.deliver(delivery(other.id))
  await everything.over
  const start = await end()
  const ahead = arrivals.wait(one.id, start)
  expect(await arrivals.wait(one.id, start - 1).over).toBe(start - 1)
  ahead.end()
})

it('nothing is missed when commits and waits overlap', async () => {
  const PER_WRITER = 150
  const start = await end()
  const writers = [here, there, there].map(async ({ deliveries }, writer) => {
    for (let number = 0; number < PER_WRITER; number++) {
      await deliveries.deliver(delivery(writer === 0 ? other.id : one.id))
    }
  })
  let read = start
  for (;;) {
    read = (await there.deliveries.arrivals(read)).position
    if (read === start + 3 * PER_WRITER) break
    read = await arrivals.wait(null, read).over
  }
  await Promise.all(writers)
})
