import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { systemClock } from '#src/lib/clock.ts'
import { purge } from '../../store/conformance/purging.ts'
import { seriesOf } from '../../support/app/scrape.ts'
import { customer, delivery } from '../../support/store/store-rows.ts'
import { storesOfRun } from '../../support/store/stores.ts'
import { openTestStore } from '../../support/store/test-store.ts'
import { until } from '../../support/until.ts'
import { addEndpoint, pushingStage, pushStage, startPush, storedDeliveries } from '../../support/webhooks/push.ts'
import {
  accept,
  acceptAfter,
  refuse,
  repeats,
  signatureOf,
  startReceiver,
  violations,
} from '../../support/webhooks/webhook-receiver.ts'

const DAY = 86_400_000
const ORDER = ['none', 'one', 'two', 'three']

const secretOf = (byte: number): string => `whsec_${Buffer.alloc(32, byte).toString('base64')}`

describe.each(storesOfRun())('pushing from %s', (kind, emptyStore) => {
  const stage = async () => pushStage((await emptyStore()).DATABASE_URL)

  it('sends of a delivery that was erased while it waited or was on its way that it was, and keeps no answer to it', async () => {
    const { store, customerId, deliver, caughtUp } = await stage()
    let answer = (): unknown => undefined
    const receiver = await startReceiver((received, response) => {
      if (received.order === 'PO-1') refuse(received, response)
      else answer = () => response.writeHead(500).end('an answer that repeats the secret payload')
    })
    const id = await addEndpoint(store, receiver.url)
    startPush(store)
    const payload = Buffer.from('{"Status":1,"secret":"payload"}')
    const sent = [await deliver({ orderId: 'PO-1', payload }), await deliver({ orderId: 'PO-2', payload })]
    await receiver.arrived(2)
    const answers = async () => (await store.webhooks.attempts(id, 99)).filter(({ response }) => response)
    await until('the answer was kept', async () => (await answers()).length > 0)
    const positions = await Promise.all(
      sent.map(async ({ receiptId }) => (await store.deliveries.findByReceipt(receiptId))?.position ?? 0),
    )
    expect(await store.purges.eraseSome({ customerId, positions, sameAs: null })).toBe(2)
    expect(await answers()).toEqual([])
    // What the server has in its memory is sent for two seconds.
    const isErased = (body: string): boolean => body.includes('"Erased":true')
    receiver.behave = (received, response) => (isErased(received.body) ? accept : refuse)(received, response)
    answer()
    await caughtUp(id)
    expect(await store.webhooks.attempts(id, 99)).toContainEqual(expect.objectContaining({ status: 500 }))
    expect(await answers()).toEqual([])
    for (const [index, { receiptId }] of sent.entries()) {
      const { body = '' } = receiver.received.findLast((each) => each.id === receiptId) ?? {}
      const erased = { ReceiptID: receiptId, OrderID: `PO-${index + 1}`, Erased: true }
      expect(JSON.parse(body).data).toMatchObject(erased)
      expect(body).not.toMatch(/secret|Payload/)
    }
    expect(violations(receiver.received)).toEqual([])
  })

  it('takes over other settings within a second, whichever process pushes: no request has the old header after one with the new', async () => {
    const { store, deliver, caughtUp } = await stage()
    const [receiver, other] = [await startReceiver(), await startReceiver()]
    const id = await addEndpoint(store, receiver.url)
    const pushes = Array.from({ length: kind === 'postgres' ? 2 : 1 }, () => startPush(store))
    const headers = (value: string) => JSON.stringify({ 'X-Tenant': JSON.stringify(value) })
    let from: string | null = null
    for (const value of ['one', 'two', 'three']) {
      await store.webhooks.change(id, { headers: { from, to: headers(value) } })
      from = headers(value)
      const before = receiver.received.length
      await until('it is sent with that header', async () => {
        await deliver({ orderId: 'A' })
        return receiver.received.slice(before).some((each) => each.headers['x-tenant'] === value)
      })
    }
    const values = receiver.received.map((each) => String(each.headers['x-tenant'] ?? 'none'))
    expect([...new Set(values)].filter((each) => each !== 'none')).toEqual(['one', 'two', 'three'])
    expect(values.toSorted((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b))).toEqual(values)
    expect(violations(receiver.received)).toEqual([])
    await store.webhooks.change(id, { url: other.url, statuses: [3], headers: { from, to: null } })
    await Promise.all(pushes.map((push) => push.look()))
    await caughtUp(id)
    const sent = receiver.received.length
    await deliver({ orderId: 'A', status: 1 })
    const wanted = await deliver({ orderId: 'A', status: 3 })
    await caughtUp(id)
    expect(receiver.received).toHaveLength(sent)
    expect(other.received.map((each) => each.id).at(-1)).toBe(wanted.receiptId)
    expect(other.received.at(-1)?.headers).not.toHaveProperty('x-tenant')
    expect([repeats(receiver.received), repeats(other.received)]).toEqual([new Map(), new Map()])
  })

  it('sends each delivery once to each endpoint, however many processes push', async () => {
    const { store, deliverMany, caughtUp } = await stage()
    const receivers = await Promise.all(Array.from({ length: 8 }, () => startReceiver()))
    const ids = await Promise.all(receivers.map(({ url }) => addEndpoint(store, url)))
    // SQLite has one server.
    for (let count = 0; count < (kind === 'postgres' ? 3 : 1); count++) startPush(store)
    await deliverMany(60, 20)
    for (const id of ids) await caughtUp(id)
    for (const { received } of receivers) {
      expect(received).toHaveLength(60)
      expect(repeats(received)).toEqual(new Map())
    }
  })
})

describe('pushing', () => {
  it('sends each delivery once, signed, with the exact bytes that came in', async () => {
    const { store, customerId, deliver, caughtUp, receiver, id } = await pushingStage(undefined, {
      secret: secretOf(7),
    })
    const payload = Buffer.from('\ufeff{ "Status" : 1,"n":12345678901234567890,\r\n"n":1e400 }')
    const receivedAt = Date.parse('2026-11-22T10:00:00.123Z')
    const { receiptId } = await deliver({ orderId: 'A/ü', payload, receivedAt })
    await receiver.arrived(1)
    await caughtUp()
    const [first] = receiver.received
    expect(first?.body).toBe(
      `{"type":"delivery.received","timestamp":"2026-11-22T10:00:00.123Z","data":{"ReceiptID":"${receiptId}","Status":1,"Duplicate":false,"ReceivedAt":"2026-11-22T10:00:00.123Z","OrderID":"A/ü","CustomerID":"${customerId}","Payload":${payload.subarray(3)}}}`,
    )
    const headers = first?.headers ?? {}
    expect(headers).toMatchObject({ 'webhook-id': receiptId, 'content-type': 'application/json' })
    expect(headers['webhook-signature']).toBe(signatureOf(secretOf(7), headers, first?.body ?? ''))
    expect(receiver.received).toHaveLength(1)
    expect(violations(receiver.received)).toEqual([])
    expect(await store.webhooks.find(id)).toMatchObject({ failingSince: null, nextTryAt: null, waiting: 0 })
  })

  it('gives an echo a webhook-id of its own, and leaves out what the endpoint does not want', async () => {
    const { store, deliver, caughtUp } = await pushStage()
    const other = customer()
    await store.customers.insert(other)
    const [all, some, theirs] = [await startReceiver(), await startReceiver(), await startReceiver()]
    const ids = [
      await addEndpoint(store, all.url),
      await addEndpoint(store, some.url, { statuses: [2, 3], duplicates: false }),
      await addEndpoint(store, theirs.url, { customerId: other.id }),
    ]
    startPush(store)
    const payload = Buffer.from('{"Status":2}')
    await deliver({ orderId: 'A', status: 2, payload })
    await deliver({ orderId: 'A', status: 2, payload })
    await deliver({ orderId: 'A', status: 1 })
    await store.deliveries.deliver(delivery(other.id, { receiptId: randomUUID(), status: 3 }))
    for (const id of ids) await caughtUp(id)
    const seen = ({ received }: typeof all) =>
      received.map(({ body }) => /"Status":(\d),"Duplicate":(\w+)/.exec(body)?.slice(1).join())
    expect(seen(all).sort()).toEqual(['1,false', '2,false', '2,true', '3,false'])
    expect(new Set(all.received.map(({ id }) => id)).size).toBe(4)
    expect(seen(some).sort()).toEqual(['2,false', '3,false'])
    expect(seen(theirs)).toEqual(['3,false'])
  })

  it('sets a delivery aside after the time to give up, and sends it again by a replay', async () => {
    const { store, deliver, caughtUp, receiver, id, push } = await pushingStage(refuse, { giveUpMilliseconds: 500 })
    const { receiptId } = await deliver({ orderId: 'A' })
    await until('it is set aside', async () => (await store.webhooks.find(id))?.setAside === 1)
    expect(seriesOf(await push.metrics.text('text')).get(`teslim_webhook_set_aside{endpoint="${id}"}`)).toBe(1)
    receiver.behave = accept
    await deliver({ orderId: 'A' })
    await receiver.arrived(2)
    const before = receiver.received.length
    expect(await store.webhooks.replay(id, 'set-aside', Date.now())).toBe(1)
    await until('it is sent again', () => receiver.received.length > before)
    expect(receiver.received.at(-1)?.id).toBe(receiptId)
    await caughtUp()
    expect(await store.webhooks.find(id)).toMatchObject({ setAside: 0, waiting: 0 })
  })

  it('pauses an endpoint that answers 410, and goes on without a gap when it is resumed', async () => {
    const { store, deliverMany, caughtUp, receiver, id, push } = await pushingStage(
      (_received, response) => void response.writeHead(410).end(),
    )
    await deliverMany(5, 5)
    await until('it is paused', async () => (await store.webhooks.find(id))?.paused?.reason === 'gone')
    expect(seriesOf(await push.metrics.text('text')).get(`teslim_webhook_paused{endpoint="${id}",reason="gone"}`)).toBe(
      1,
    )
    const before = receiver.received.length
    await deliverMany(5, 5)
    receiver.behave = accept
    await store.webhooks.change(id, { paused: null })
    await caughtUp()
    expect(new Set(receiver.received.slice(before).map(({ id }) => id)).size).toBe(10)
  })

  it('stops within a second of a pause, as its metrics show, and goes on without a gap', async () => {
    const { store, deliver, deliverMany, caughtUp, receiver, id, push } = await pushingStage((received, response) =>
      (received.order === 'bad' ? refuse : accept)(received, response),
    )
    const scraped = async () => seriesOf(await push.metrics.text('text'))
    const behind = `teslim_webhook_behind_seconds{endpoint="${id}"}`
    await deliverMany(100, 10)
    await deliver({ orderId: 'bad' })
    await receiver.arrived(101)
    await until('it is behind', async () => (await scraped()).has(behind))
    await store.webhooks.change(id, { paused: { reason: 'operator', at: Date.now() } })
    await until('it is no longer pushed to', async () => !(await scraped()).has(behind))
    expect((await scraped()).get(`teslim_webhook_paused{endpoint="${id}",reason="operator"}`)).toBe(1)
    const paused = receiver.received.length
    receiver.behave = accept
    await deliverMany(20, 10)
    await store.webhooks.change(id, { paused: null })
    await caughtUp()
    expect(receiver.received.length).toBe(paused + 21)
    expect(new Set(receiver.received.map((each) => each.id)).size).toBe(121)
  })

  it('works off a replay of some Statuses while new deliveries come in, in order, until it is at its end', async () => {
    const { store, deliver, caughtUp, receiver, id } = await pushingStage()
    for (let number = 0; number < 40; number++) await deliver({ orderId: `o${number % 5}`, status: number % 4 })
    await caughtUp()
    const { position } = (await store.webhooks.find(id)) ?? { position: 0 }
    await store.webhooks.setReplay(id, { from: 0, until: position, statuses: [0, 3], beganAt: Date.now() })
    for (let number = 0; number < 10; number++) await deliver({ orderId: `o${number % 5}`, status: 1 })
    await until('it is at its end', async () => (await store.webhooks.find(id))?.replay === null)
    await caughtUp()
    const again = repeats(receiver.received)
    const stored = await storedDeliveries(store)
    const wanted = stored.filter((each) => each.position <= position && [0, 3].includes(each.status))
    expect(wanted).toHaveLength(20)
    expect(again).toEqual(new Map(wanted.map(({ receiptId }) => [receiptId, 2])))
    const second = receiver.received.filter(({ id: each }, index) => {
      return receiver.received.findIndex((other) => other.id === each) < index
    })
    for (const [order, deliveries] of Map.groupBy(wanted, ({ orderId }) => orderId)) {
      const ids = second.filter((each) => each.order === order).map((each) => each.id)
      expect(ids).toEqual(deliveries.map(({ receiptId }) => receiptId))
    }
  })

  it('repeats nothing after a graceful stop', async () => {
    const { store, deliverMany, caughtUp } = await pushStage()
    const receiver = await startReceiver(acceptAfter(50))
    const id = await addEndpoint(store, receiver.url)
    for (let start = 0; start < 3; start++) {
      const push = startPush(store)
      await deliverMany(100, 40)
      const before = receiver.received.length
      await until('some were sent', () => receiver.received.length > before + 40)
      await push.stop()
      expect(receiver.open()).toBe(0)
    }
    startPush(store)
    await caughtUp(id)
    expect(repeats(receiver.received)).toEqual(new Map())
    expect(receiver.received).toHaveLength(300)
  })

  it('goes on after what a purge removed unsent, whether that waited or was not even read, and keeps the rest', async () => {
    const { store, deliver, deliverMany, caughtUp } = await pushStage()
    const receiver = await startReceiver(refuse)
    const id = await addEndpoint(store, receiver.url)
    const old = Date.now() - 10 * DAY
    const push = startPush(store)
    await deliver({ receivedAt: old })
    await until('it failed', async () => (await store.webhooks.find(id))?.failing === 1)
    await push.stop()
    for (let number = 0; number < 5; number++) await deliver({ receivedAt: old })
    await deliverMany(3, 3)
    expect(await purge(store, Date.now() - DAY, { orders: true, unsent: true })).toMatchObject({ deliveries: 6 })
    receiver.behave = accept
    const before = receiver.received.length
    const again = startPush(store)
    await caughtUp(id)
    expect(receiver.received.length - before).toBe(3)
    expect(await store.webhooks.find(id)).toMatchObject({ removedUnsent: 6, waiting: 0, failing: 0 })
    expect(again.log).toEqual([])
  })

  it('sends all that is kept for it, however much a purge removed of what it has taken', async () => {
    const { store, deliver, caughtUp } = await pushStage()
    const receiver = await startReceiver()
    const id = await addEndpoint(store, receiver.url)
    const receivedAt = Date.now() - 10 * DAY
    const push = startPush(store)
    for (let number = 0; number < 4; number++) await deliver({ receivedAt, orderId: null })
    await caughtUp(id)
    receiver.behave = refuse
    await deliver({ receivedAt, orderId: null })
    await until('it failed', async () => (await store.webhooks.find(id))?.failing === 1)
    await push.stop()
    for (let number = 0; number < 2; number++) await deliver({ receivedAt, orderId: null })
    expect(await purge(store, Date.now() - DAY, { orders: true })).toMatchObject({ deliveries: 4 })
    receiver.behave = accept
    const before = receiver.received.length
    const again = startPush(store)
    await caughtUp(id)
    expect(receiver.received.length - before).toBe(3)
    expect(again.log).toEqual([])
  })

  it('sends everything again where its stored place lies beyond all deliveries, and tells so', async () => {
    const { store, deliver, deliverMany, caughtUp } = await pushStage()
    const receiver = await startReceiver()
    await deliverMany(3, 3)
    const last = await store.deliveries.lastPosition()
    const id = await addEndpoint(store, receiver.url, { position: last + 10 })
    const push = startPush(store)
    await until('it is told', async () => (await store.webhooks.attempts(id, 1)).length === 1)
    const { receiptId } = await deliver()
    await receiver.arrived(4)
    await caughtUp(id)
    expect(receiver.received.map((each) => each.id)).toContain(receiptId)
    expect(await store.webhooks.attempts(id, 2)).toMatchObject([
      { position: null, error: expect.stringContaining('lost deliveries') },
    ])
    expect(push.log).toEqual([expect.objectContaining({ level: 'warn', details: { endpoint: id } })])
  })

  it('signs with both secrets while one replaces the other, and with the new one alone after that', async () => {
    const { store, deliver } = await pushStage()
    const receiver = await startReceiver()
    const id = await addEndpoint(store, receiver.url, { secret: secretOf(1) })
    let later = 0
    const formerSecret = { sealed: secretOf(1), until: Date.now() + 2 * DAY }
    await store.webhooks.change(id, { secret: secretOf(2), formerSecret })
    startPush(store, { clock: { ...systemClock, now: () => Date.now() + later } })
    const signature = async (): Promise<readonly string[]> => {
      const before = receiver.received.length
      await deliver()
      await until('it is sent', () => receiver.received.length > before)
      const { headers, body } = receiver.received.at(-1) as (typeof receiver.received)[0]
      expect(headers['webhook-signature']).toContain(signatureOf(secretOf(2), headers, body))
      return String(headers['webhook-signature']).split(' ')
    }
    expect(await signature()).toHaveLength(2)
    expect(violations(receiver.received)).toEqual([])
    later = 2 * DAY
    expect(await signature()).toHaveLength(1)
  })

  it('has only some megabytes under way, and in memory, whatever the payloads', async () => {
    const { store, deliver, caughtUp } = await pushStage()
    const mib = 1024 * 1024
    const payload = Buffer.from(`{"Status":1,"filler":"${'x'.repeat(mib)}"}`)
    for (let number = 0; number < 24; number++) await deliver({ orderId: `o${number}`, payload })
    let [read, sent, most] = [0, 0, 0]
    const answer = acceptAfter(200)
    const receiver = await startReceiver((received, response) => {
      most = Math.max(most, receiver.open())
      response.on('close', () => sent++)
      answer(received, response)
    })
    const id = await addEndpoint(store, receiver.url)
    const deliveries: typeof store.deliveries = {
      ...store.deliveries,
      async pageAfter(...wanted) {
        const found = await store.deliveries.pageAfter(...wanted)
        read += found.payloads.size
        expect(read - sent).toBeLessThan(20)
        return found
      },
    }
    startPush({ ...store, deliveries })
    await caughtUp(id)
    expect(receiver.received).toHaveLength(24)
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(9)
  })

  it('says in one line that a secret cannot be opened, and sends nothing', async () => {
    const { store, deliver } = await pushStage()
    const receiver = await startReceiver()
    const id = await addEndpoint(store, receiver.url, { secret: `v1.${'A'.repeat(16)}.${'A'.repeat(40)}` })
    const other = await startReceiver()
    await addEndpoint(store, other.url)
    const push = startPush(store)
    await deliver()
    await other.arrived(1)
    await until('it is logged', () => push.log.length > 0)
    expect(push.log).toEqual([
      expect.objectContaining({ level: 'error', details: expect.objectContaining({ endpoint: id }) }),
    ])
    expect(receiver.received).toEqual([])
    expect(JSON.stringify(push.log)).not.toContain('AAAA')
  })

  it('sends no more while it cannot store what it sent, and goes on when it can', async () => {
    const { store, deliverMany, caughtUp } = await pushStage()
    const receiver = await startReceiver(acceptAfter(20))
    const id = await addEndpoint(store, receiver.url)
    const disk: { isFull: boolean } = { isFull: true }
    const webhooks: typeof store.webhooks = {
      ...store.webhooks,
      save: async (...sent) => {
        if (disk.isFull) throw new Error('the disk is full')
        return store.webhooks.save(...sent)
      },
    }
    const push = startPush({ ...store, webhooks })
    await deliverMany(1200, 1200)
    await until('it is logged', () => push.log.length > 0)
    await until('nothing is under way', () => receiver.open() === 0)
    const before = receiver.received.length
    expect(before).toBeLessThan(1000)
    expect((await store.webhooks.find(id))?.position).toBe(0)
    disk.isFull = false
    await caughtUp(id)
    expect(receiver.received).toHaveLength(1200)
    await until('it is logged that they go on', () => push.log.length > 1)
    expect(push.log.map(({ message }) => message)).toEqual([
      'webhooks wait: the store does not answer',
      'webhooks go on: the store answers again',
    ])
  })

  /** A store that writes down what it is asked about endpoints. */
  const openAsked = async () => {
    const store = await openTestStore()
    const asked: string[] = []
    const webhooks = Object.fromEntries(
      Object.entries(store.webhooks).map(([name, method]) => [
        name,
        (...sent: never[]) => {
          asked.push(name)
          return (method as (...sent: never[]) => unknown)(...sent)
        },
      ]),
    ) as unknown as typeof store.webhooks
    return { store: { ...store, webhooks }, asked }
  }

  it('looks twice when a hundred ask for it at once, and no more once it is stopped', async () => {
    const { store, asked } = await openAsked()
    const looks = () => asked.filter((name) => name === 'any').length
    const push = startPush(store)
    await until('it has looked', () => looks() > 0)
    const before = looks()
    await Promise.all(Array.from({ length: 100 }, () => push.look()))
    // One of its own may come between.
    expect(looks() - before).toBeLessThanOrEqual(3)
    await push.stop()
    const stopped = looks()
    await push.look()
    expect(looks()).toBe(stopped)
  })

  it('asks the store once a second where there is no endpoint, and writes nothing in hours', async () => {
    const { store, asked } = await openAsked()
    const pauses = new Set<number>()
    let now = 0
    const after = (milliseconds: number, work: () => void) => {
      pauses.add(milliseconds)
      now += 600_000
      const timer = setImmediate(work)
      return () => clearImmediate(timer)
    }
    const push = startPush(store, { after, clock: { ...systemClock, monotonic: () => now } })
    await until('it asked three times', () => asked.length >= 3)
    expect([...pauses]).toEqual([1000])
    await push.stop()
    expect(new Set(asked)).toEqual(new Set(['any']))
    expect(push.log).toEqual([])
  })

  it('reads a page once for fifty endpoints at the same place', async () => {
    const { store, deliverMany, caughtUp } = await pushStage()
    const receiver = await startReceiver()
    const ids = await Promise.all(Array.from({ length: 50 }, () => addEndpoint(store, receiver.url)))
    await deliverMany(40, 40)
    let read = 0
    const deliveries: typeof store.deliveries = {
      ...store.deliveries,
      async pageAfter(...wanted) {
        const found = await store.deliveries.pageAfter(...wanted)
        read += found.payloads.size
        return found
      },
    }
    startPush({ ...store, deliveries })
    for (const id of ids) await caughtUp(id)
    expect(receiver.received).toHaveLength(50 * 40)
    // A few endpoints are taken at a time.
    expect(read).toBeLessThan(50 * 40 * 0.4)
  })
})
