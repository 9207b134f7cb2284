import { expect, it } from 'vitest'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { createCustomers } from '#src/customer/customer.rule.ts'
import { systemClock } from '#src/lib/clock.ts'
import { systemRandom } from '#src/lib/random.ts'
import type { Store } from '#src/store/store.ts'
import { ask } from '../support/app/ask.ts'
import { fetch } from '../support/app/checked-fetch.ts'
import { pauseAfterRefusal } from '../support/processes/ledger.ts'
import { randomBelow } from '../support/random.ts'
import { storesOfRun } from '../support/store/stores.ts'
import { until } from '../support/until.ts'
import { addEndpoint, isCaughtUp, openTestStore, storedDeliveries } from '../support/webhooks/push.ts'
import { type PushingServer, startPushing } from '../support/webhooks/webhook-process.ts'
import {
  accept,
  acceptAfter,
  type Behaviour,
  changedRepeats,
  closeHalfWay,
  firstArrivals,
  hang,
  refuse,
  repeats,
  startReceiver,
} from '../support/webhooks/webhook-receiver.ts'

const TIMEOUT = 1000
const USUAL_TIMEOUT = 15_000
const WRITERS = 12
/** Counted in pauses of the test, each of which takes a little longer. */
const WITHIN_TEN_SECONDS = { milliseconds: 9_000 }
/** How long servers are killed in turn; WEBHOOK_CHAOS_SECONDS makes it longer by hand. */
const CHAOS_MILLISECONDS = Number(process.env.WEBHOOK_CHAOS_SECONDS ?? 8) * 1000

async function makeKey(store: Store): Promise<string> {
  const rules = { store, clock: systemClock, random: systemRandom }
  const customers = createCustomers({ ...rules, hashPassword: async () => 'none' })
  const wanted = { email: 'a@b.co', isApi: true, regions: ['TR'], authority: ['*'] }
  const { customer } = await customers.add({ ...wanted, password: 'correct horse battery staple' })
  return (await createApiKeys({ ...rules, customers }).issue(customer.id, 'erp')).key
}

/** Writers that deliver to any server that answers, each its own orders one after the other, until told to stop. */
function startWriters(servers: readonly PushingServer[], key: string) {
  let stopped = false
  let acknowledged = 0
  const write = async (writer: number): Promise<void> => {
    for (let step = 0; !stopped; step++) {
      const body = `{"OrderID":"w${writer}-${step % 6}","Status":${step % 4},"n":${step}}`
      const headers = { ApiKey: key, 'idempotency-key': `${writer}-${step}` }
      for (let tries = 0; ; tries++) {
        const { url } = servers[(writer + tries) % servers.length] as PushingServer
        const answer = await ask(`${url}/Purchase/update`, { method: 'POST', headers, body }).catch(() => undefined)
        await pauseAfterRefusal()
        if (answer?.status === 200) break
      }
      acknowledged++
    }
  }
  const all = Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))
  return {
    acknowledged: () => acknowledged,
    async stop(): Promise<void> {
      stopped = true
      await all
    },
  }
}

it.each(storesOfRun())(
  'on %s every delivery arrives, in order, from servers that are killed in turn to an endpoint that fails in every way',
  async (kind, emptyStore) => {
    const count = kind === 'postgres' ? 2 : 1
    const { DATABASE_URL: databaseUrl } = await emptyStore()
    const store = await openTestStore(databaseUrl)
    const receiver = await startReceiver()
    const ways: readonly Behaviour[] = [refuse, refuse, hang, closeHalfWay, acceptAfter(TIMEOUT + 300)]
    receiver.behave = (received, response) =>
      (randomBelow(100) < 5 ? (ways[randomBelow(ways.length)] ?? accept) : accept)(received, response)
    const key = await makeKey(store)
    const id = await addEndpoint(store, receiver.url)
    const servers = await Promise.all(Array.from({ length: count }, () => startPushing(databaseUrl, TIMEOUT)))
    const writers = startWriters(servers, key)

    const end = performance.now() + CHAOS_MILLISECONDS
    for (let kills = 0; kills < 2 || performance.now() < end; kills++) {
      const before = receiver.received.length
      // Longer than a lease, so that the other one takes over.
      await until('deliveries arrive again', () => receiver.received.length > before + 100, { milliseconds: 20_000 })
      const index = kills % count
      await (servers[index] as PushingServer).end('SIGKILL')
      servers[index] = await startPushing(databaseUrl, TIMEOUT)
    }
    await until('enough came in', () => writers.acknowledged() > 200, { milliseconds: 100_000 })
    await writers.stop()
    receiver.behave = accept
    await until('everything is confirmed', () => isCaughtUp(store, id), { milliseconds: 60_000 })
    for (const server of servers) expect(await server.end('SIGTERM')).toBe(0)

    const stored = await storedDeliveries(store)
    expect(stored).toHaveLength(writers.acknowledged())
    expect(stored.length).toBeGreaterThan(200)
    const seen = firstArrivals(receiver.received)
    for (const [order, deliveries] of Map.groupBy(stored, ({ orderId }) => String(orderId))) {
      expect(seen.get(order)).toEqual(deliveries.map(({ receiptId }) => receiptId))
    }
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(stored.length)
    expect(changedRepeats(receiver.received)).toEqual([])
    console.info(`${kind}: ${stored.length} deliveries, ${repeats(receiver.received).size} came more than once`)
  },
  240_000,
)

/** A save is made within 20 ms. A busy machine takes longer, most of all PostgreSQL, which waits for its disk. KILL_MILLISECONDS=20 is for a quiet one. */
const KNOWN_MILLISECONDS = { sqlite: 250, postgres: 1500 }
/** Counted in pauses of the test. Leases would take six seconds. */
const AT_ONCE = { milliseconds: 2_500 }

it.each(storesOfRun())(
  'on %s nothing is sent again that was confirmed a moment before a SIGKILL, and on SQLite the next server sends at once',
  async (kind, emptyStore) => {
    const { DATABASE_URL: databaseUrl } = await emptyStore()
    const store = await openTestStore(databaseUrl)
    const answeredAt = new Map<string, number>()
    const receiver = await startReceiver(({ id }, response) => {
      response.on('finish', () => answeredAt.set(id, performance.now()))
      response.end()
    })
    const key = await makeKey(store)
    const id = await addEndpoint(store, receiver.url)
    let server = await startPushing(databaseUrl, USUAL_TIMEOUT)
    const servers = [server]
    const writers = startWriters(servers, key)
    const late: number[] = []
    for (let kills = 0; kills < 3; kills++) {
      const before = receiver.received.length
      await until('deliveries arrive', () => receiver.received.length > before + 150, { milliseconds: 30_000 })
      const killedAt = performance.now()
      const known = new Map(answeredAt)
      await server.end('SIGKILL')
      server = await startPushing(databaseUrl, USUAL_TIMEOUT)
      servers[0] = server
      const restarted = receiver.received.length
      await until('it sends', () => receiver.received.length > restarted, kind === 'sqlite' ? AT_ONCE : undefined)
      await until('it sends what is new', () => answeredAt.size > known.size + 50, { milliseconds: 30_000 })
      for (const again of receiver.received.slice(restarted))
        if (known.has(again.id)) late.push(killedAt - (known.get(again.id) ?? 0))
    }
    await writers.stop()
    await until('everything is confirmed', () => isCaughtUp(store, id), { milliseconds: 30_000 })
    console.info(
      `${kind}: ${late.length} came again, confirmed at most ${Math.max(0, ...late).toFixed(0)} ms before a kill`,
    )
    expect(
      late.filter((milliseconds) => milliseconds > Number(process.env.KILL_MILLISECONDS ?? KNOWN_MILLISECONDS[kind])),
    ).toEqual([])
  },
  120_000,
)

it.each(storesOfRun('postgres'))(
  'another replica takes over within ten seconds after the one that pushes was killed, and after it was stopped',
  async (_, emptyStore) => {
    const { DATABASE_URL: databaseUrl } = await emptyStore()
    const store = await openTestStore(databaseUrl)
    const receiver = await startReceiver()
    const key = await makeKey(store)
    const ids = await Promise.all(Array.from({ length: 40 }, () => addEndpoint(store, receiver.url)))
    const holder = await startPushing(databaseUrl, USUAL_TIMEOUT)
    const deliver = async (url: string, n: number): Promise<void> => {
      const body = `{"OrderID":"o","Status":1,"n":${n}}`
      expect((await fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body })).status).toBe(
        200,
      )
    }
    const allCameTo = (n: number) => (): boolean =>
      receiver.received.filter(({ body }) => body.includes(`"n":${n}}`)).length >= ids.length
    const allConfirmed = () =>
      until('everything is confirmed', async () => {
        const caughtUp = await Promise.all(ids.map((id) => isCaughtUp(store, id)))
        return caughtUp.every(Boolean)
      })
    await deliver(holder.url, 1)
    await until('the first one pushes', allCameTo(1))
    const other = await startPushing(databaseUrl, USUAL_TIMEOUT)
    await deliver(other.url, 2)
    await until('the first one still pushes', allCameTo(2))
    // What it has sent, but not stored, is sent again.
    await allConfirmed()
    holder.child.kill('SIGKILL')
    await deliver(other.url, 3)
    await until('the other one pushes', allCameTo(3), WITHIN_TEN_SECONDS)
    await allConfirmed()

    const third = await startPushing(databaseUrl, USUAL_TIMEOUT)
    other.child.kill('SIGSTOP')
    await deliver(third.url, 4)
    await until('the third one pushes', allCameTo(4), WITHIN_TEN_SECONDS)
    other.child.kill('SIGCONT')
    await deliver(third.url, 5)
    await until('it still does', allCameTo(5))
    // The one that went on has noticed that it holds nothing.
    await deliver(other.url, 6)
    await until('it still does', allCameTo(6))
    await allConfirmed()
    expect(receiver.received.length).toBe(6 * ids.length)
    expect(await other.end('SIGTERM')).toBe(0)
    await deliver(third.url, 7)
    await until('it still does', allCameTo(7))
    expect(await third.end('SIGTERM')).toBe(0)
    expect(receiver.received.length).toBe(7 * ids.length)
  },
  120_000,
)
