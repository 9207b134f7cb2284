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
import { openTestStore } from '../support/store/test-store.ts'
import { until } from '../support/until.ts'
import { addEndpoint, expectInOrder, isCaughtUp, storedDeliveries } from '../support/webhooks/push.ts'
import { type PushingServer, startPushing } from '../support/webhooks/webhook-process.ts'
import {
  accept,
  acceptAfter,
  type Behaviour,
  changedRepeats,
  closeHalfWay,
  hang,
  refuse,
  repeats,
  startReceiver,
} from '../support/webhooks/webhook-receiver.ts'

/** Of an attempt. Longer than a busy machine needs for one, or what was confirmed in time would be sent again. */
const TIMEOUT = 2000
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

/** A save is made within 20 ms. A busy machine takes longer, most of all PostgreSQL, which waits for its disk. KILL_MILLISECONDS=20 is for a quiet one. */
const KNOWN_MILLISECONDS = { sqlite: 250, postgres: 1500 }
/** Counted in pauses of the test. Leases would take six seconds. */
const AT_ONCE = { milliseconds: 2_500 }

it.each(storesOfRun())(
  'on %s every delivery arrives, in order, from servers that are killed in turn to an endpoint that fails in every way, none again that was confirmed a moment before; on SQLite the next server sends at once',
  async (kind, emptyStore) => {
    const count = kind === 'postgres' ? 2 : 1
    const { DATABASE_URL: databaseUrl } = await emptyStore()
    const store = await openTestStore(databaseUrl)
    const ways: readonly Behaviour[] = [refuse, refuse, hang, closeHalfWay, acceptAfter(TIMEOUT + 300)]
    const confirmations = new Map<string, number[]>()
    const receiver = await startReceiver((received, response) => {
      const way = randomBelow(100) < 5 ? ways[randomBelow(ways.length)] : undefined
      const own = confirmations.get(received.id) ?? []
      confirmations.set(received.id, own)
      if (way === undefined) response.on('finish', () => own.push(performance.now()))
      ;(way ?? accept)(received, response)
    })
    const key = await makeKey(store)
    const id = await addEndpoint(store, receiver.url)
    const servers = await Promise.all(Array.from({ length: count }, () => startPushing(databaseUrl, TIMEOUT)))
    const writers = startWriters(servers, key)

    const kills: { readonly began: number; readonly ended: number }[] = []
    const end = performance.now() + CHAOS_MILLISECONDS
    while (kills.length < 2 || performance.now() < end) {
      const before = receiver.received.length
      // Longer than a lease, so that the other one takes over.
      await until('deliveries arrive again', () => receiver.received.length > before + 100, { milliseconds: 20_000 })
      const index = kills.length % count
      const began = performance.now()
      await (servers[index] as PushingServer).end('SIGKILL')
      kills.push({ began, ended: performance.now() })
      servers[index] = await startPushing(databaseUrl, TIMEOUT)
      const restarted = receiver.received.length
      const arrive = (count: number) => () => receiver.received.length > restarted + count
      await until('deliveries are sent', arrive(0), kind === 'sqlite' ? AT_ONCE : { milliseconds: 20_000 })
      await until('new ones are sent, too', arrive(50), { milliseconds: 20_000 })
    }
    await until('enough came in', () => writers.acknowledged() > 200, { milliseconds: 100_000 })
    await writers.stop()
    receiver.behave = accept
    await until('everything is confirmed', () => isCaughtUp(store, id), { milliseconds: 60_000 })
    for (const server of servers) expect(await server.end('SIGTERM')).toBe(0)

    const stored = await storedDeliveries(store)
    expect(stored).toHaveLength(writers.acknowledged())
    expect(stored.length).toBeGreaterThan(200)
    await expectInOrder(store, receiver.received)
    expect(new Set(receiver.received.map((each) => each.id)).size).toBe(stored.length)
    expect(changedRepeats(receiver.received)).toEqual([])
    // How long before a kill that was confirmed which came again after it.
    const late = receiver.received.flatMap(({ id, at }) => {
      const confirmed = confirmations.get(id)?.findLast((each) => each < at) ?? at
      const kill = kills.find(({ ended }) => ended > confirmed && ended < at)
      return kill ? [kill.began - confirmed] : []
    })
    const [repeated, latest] = [repeats(receiver.received).size, Math.max(0, ...late)]
    console.info(
      `${kind}: ${stored.length} deliveries, ${repeated} came more than once, confirmed at most ${latest.toFixed(0)} ms before a kill`,
    )
    expect(latest).toBeLessThanOrEqual(Number(process.env.KILL_MILLISECONDS ?? KNOWN_MILLISECONDS[kind]))
  },
  240_000,
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
