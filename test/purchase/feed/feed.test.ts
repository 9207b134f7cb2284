import { randomUUID } from 'node:crypto'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { anyText } from '../../support/any-text.ts'
import { checkPart } from '../../support/app/checked-fetch.ts'
import { addCustomer, PASSWORD, type TestApp, testApp, testAppBeside } from '../../support/app/test-app.ts'
import { delivery } from '../../support/store/store-rows.ts'
import { deliverBy, runSql, session, storesOfRun, untilWaiting } from '../../support/store/stores.ts'

interface Item {
  readonly ReceiptID: string
  readonly OrderID?: string
  readonly Status: number
  readonly CustomerID: string
  readonly Payload?: { n: number }
}

const token = async (service: TestApp, email: string): Promise<string> =>
  (await service.login({ Email: email, Password: PASSWORD })).json().data.Token

const ask = (service: TestApp, bearer: string, query = '', headers = {}) =>
  service.app.inject({ url: `/Purchase/feed${query}`, headers: { authorization: `Bearer ${bearer}`, ...headers } })

/** Opens a stream over a real connection, because inject has none. */
async function openStream(service: TestApp, bearer: string, query = '', headers = {}) {
  const { port } = service.app.server.address() as { port: number }
  const request = httpRequest({
    port,
    path: `/Purchase/feed${query}`,
    headers: { authorization: `Bearer ${bearer}`, accept: 'text/event-stream', ...headers },
  }).end()
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject)
  })
  let text = ''
  const ended = new Promise<void>((resolve) => {
    response.on('close', resolve).on('error', () => resolve())
  })
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  afterAll(() => void request.destroy())
  const events = (): { id: string; item: Item }[] =>
    [...text.matchAll(/^id: (.*)\n((?:data: .*\n)+)\n/gm)].map(([, id = '', data = '']) => ({
      id,
      item: JSON.parse(data.replaceAll(/^data: /gm, '')),
    }))
  return { request, response, ended, events, text: () => text }
}

describe.each(storesOfRun())('the feed on %s', async (kind, emptyStore) => {
  const here = await testApp(await emptyStore(), { withThreads: true })
  // An embedded store has one process.
  const there = kind === 'postgres' ? await testAppBeside(here) : here
  for (const service of new Set([here, there])) await service.app.listen({ port: 0 })
  const [one, other, office] = [
    await addCustomer(here),
    await addCustomer(here),
    await addCustomer(here, { scope: 'operator' }),
  ]
  const [mine, everybody] = [await token(here, one.email), await token(here, office.email)]
  let number = 0
  const deliver = (customerId: string, more = {}, { store } = there) =>
    store.deliveries.deliver(
      delivery(customerId, { receiptId: randomUUID(), payload: Buffer.from(`{"Status":1,"n":${number++}}`), ...more }),
    )
  /** Reads to the end and returns its cursor. */
  const end = async (bearer: string, query = ''): Promise<string> => {
    for (let after = ''; ; ) {
      const { data } = (await ask(here, bearer, `?limit=1000${after}${query}`)).json()
      if (data.Deliveries.length === 0) return data.NextCursor
      after = `&after=${data.NextCursor}`
    }
  }

  it('returns the exact bytes that were delivered, in the order of commits', async () => {
    const start = await end(everybody)
    const payload = Buffer.from('{ "Status" : 1,"n":12345678901234567890,\r\n"n":1e400 }')
    const first = await deliver(one.id, { orderId: 'A/1', payload })
    const second = await deliver(other.id, { orderId: null, payload: Buffer.from('\ufeff{"Status":2}'), status: 2 })
    const answer = await ask(here, everybody, `?after=${start}`)
    expect(answer.statusCode).toBe(200)
    const [start1, start2] = [first, second].map(
      ({ receiptId, status }) =>
        `{"ReceiptID":"${receiptId}","Status":${status},"Duplicate":false,"ReceivedAt":"2025-11-21T12:00:00.123Z"`,
    )
    const { NextCursor: cursor } = answer.json().data
    expect(answer.payload).toBe(
      `{"data":{"Deliveries":[${start1},"OrderID":"A/1","CustomerID":"${one.id}","Payload":${payload}},${start2},"CustomerID":"${other.id}","Payload":{"Status":2}}],"NextCursor":"${cursor}"},"success":true,"message":"OK"}\n`,
    )
    const bare = (await ask(here, everybody, `?after=${start}&payload=none&limit=1`)).json().data
    expect(bare.Deliveries).toEqual([expect.not.objectContaining({ Payload: expect.anything() })])
    expect((await ask(there, everybody, `?after=${bare.NextCursor}`)).json().data.Deliveries).toHaveLength(1)
  })

  it('shows a customer only its own deliveries, and an operator those of one customer on request', async () => {
    const [start, all] = [await end(mine), await end(everybody)]
    const { receiptId } = await deliver(one.id)
    await deliver(other.id)
    const own = (await ask(here, mine, `?after=${start}`)).json().data
    expect(own.Deliveries).toEqual([expect.objectContaining({ ReceiptID: receiptId, CustomerID: one.id })])
    expect((await ask(here, mine, `?customer=${other.id}`)).statusCode).toBe(404)
    const filtered = await end(everybody, `&customer=${other.email}`)
    const theirs = await deliver(other.id)
    const answer = await ask(here, everybody, `?after=${filtered}&customer=${other.email}`)
    expect(answer.json().data.Deliveries).toEqual([expect.objectContaining({ ReceiptID: theirs.receiptId })])
    for (const [bearer, query, cursor] of [
      [mine, '', all],
      [everybody, '', start],
      [everybody, `&customer=${one.id}`, all],
      [everybody, '', `${all.slice(0, -1)}_`],
    ] as const) {
      expect((await ask(here, bearer, `?after=${cursor}${query}`)).json()).toMatchObject({
        errorCode: 'CURSOR_INVALID',
      })
    }
  })

  it('answers a long poll when a delivery is committed, and moves the cursor on without deliveries', async () => {
    const start = await end(mine)
    const waiting = ask(here, mine, `?after=${start}&wait=30`)
    await deliver(other.id)
    const { receiptId } = await deliver(one.id)
    expect((await waiting).json().data.Deliveries).toEqual([expect.objectContaining({ ReceiptID: receiptId })])
    const { data } = (await ask(here, mine, `?after=${await end(mine)}&wait=1`)).json()
    expect(data).toEqual({ Deliveries: [], NextCursor: expect.any(String) })
  })

  it('loses nothing, repeats nothing and keeps each writer’s order, with 12 writers and a follower', async () => {
    const PER_WRITER = 60
    let cursor = await end(everybody)
    const writers = Array.from({ length: 12 }, async (_, writer) => {
      for (let step = 0; step < PER_WRITER; step++) {
        const payload = Buffer.from(`{"Status":1,"n":${step}}`)
        await deliver(writer % 2 ? one.id : other.id, { orderId: `w${writer}`, payload }, writer % 3 ? here : there)
      }
    })
    const seen: Item[] = []
    while (seen.length < 12 * PER_WRITER) {
      const { data } = (
        await ask(seen.length % 2 ? here : there, everybody, `?after=${cursor}&wait=20&limit=37`)
      ).json()
      seen.push(...data.Deliveries)
      cursor = data.NextCursor
    }
    await Promise.all(writers)
    expect((await ask(here, everybody, `?after=${cursor}`)).json().data.Deliveries).toEqual([])
    expect(new Set(seen.map(({ ReceiptID }) => ReceiptID)).size).toBe(12 * PER_WRITER)
    for (let writer = 0; writer < 12; writer++) {
      const steps = seen.filter(({ OrderID }) => OrderID === `w${writer}`).map(({ Payload }) => Payload?.n)
      expect(steps).toEqual(Array.from({ length: PER_WRITER }, (_, step) => step))
    }
  })

  it('streams server-sent events, whose ids resume the stream', async () => {
    const start = await end(everybody)
    const stream = await openStream(here, everybody, `?after=${start}`)
    expect(stream.response.statusCode).toBe(200)
    expect(stream.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-request-id': expect.any(String),
    })
    const receipts: string[] = []
    const seen = (events: { item: Item }[]) => events.map(({ item }) => item.ReceiptID)
    for (let step = 0; step < 3; step++)
      receipts.push((await deliver(one.id, { payload: Buffer.from('{\r"Status"\n:\r\n1}') })).receiptId)
    await expect.poll(() => seen(stream.events())).toEqual(receipts)
    stream.request.destroy()
    receipts.push((await deliver(other.id)).receiptId)
    const again = await openStream(there, everybody, '', { 'last-event-id': stream.events()[0]?.id })
    await expect.poll(() => seen(again.events())).toEqual(receipts.slice(1))
    for (const { item } of again.events()) await checkPart('FeedDelivery', item)
    expect(again.events().at(-1)?.item).toMatchObject({ CustomerID: other.id, Payload: { Status: 1 } })
  })

  it('sends nothing after the token was revoked', async () => {
    const someone = await addCustomer(here)
    const bearer = await token(here, someone.email)
    const stream = await openStream(here, bearer)
    await here.customers.disable(someone.id)
    here.clock.time += 1000
    await deliver(someone.id)
    await stream.ended
    expect(stream.events()).toEqual([])
    expect((await ask(here, bearer)).statusCode).toBe(401)
  })

  it('ignores empty parameters and an empty Last-Event-ID', async () => {
    const whole = (await ask(here, everybody)).json()
    const empty = await ask(here, everybody, '?after=&limit=&wait=&payload=&customer=', { 'last-event-id': '' })
    expect([empty.statusCode, empty.json()]).toEqual([200, whole])
  })

  it('refuses whoever has no token, and any text as a cursor', async () => {
    expect((await here.app.inject({ url: '/Purchase/feed' })).statusCode).toBe(401)
    await fc.assert(
      fc.asyncProperty(anyText(1), async (cursor) => {
        const answer = await ask(here, everybody, `?after=${encodeURIComponent(cursor.toWellFormed())}`)
        expect(answer.json()).toMatchObject({ errorCode: 'CURSOR_INVALID' })
      }),
    )
  })
})

it.each(storesOfRun('postgres'))(
  'a delivery that a slow transaction commits late is not skipped',
  async (_, emptyStore) => {
    const { DATABASE_URL: databaseUrl } = await emptyStore()
    const here = await testApp({ DATABASE_URL: databaseUrl }, { withThreads: true })
    const there = await testAppBeside(here)
    // On a busy machine, the three seconds that it waits for another transaction may be over.
    await runSql(databaseUrl, "ALTER FUNCTION deliver_1 SET lock_timeout = '60s'")
    const one = await addCustomer(here)
    const bearer = await token(here, one.email)
    const slow = await session(databaseUrl)
    await slow.query('BEGIN')
    await deliverBy(slow, delivery(one.id, { orderId: 'slow' }))
    const writers = [here, there].map(({ store }, writer) =>
      store.deliveries.deliver(delivery(one.id, { orderId: `fast${writer}` })),
    )
    // Both writers now wait for the slow transaction.
    await untilWaiting(databaseUrl, 2)
    const waiting = ask(there, bearer, '?wait=30')
    await slow.query('COMMIT')
    await Promise.all(writers)
    const deliveries = (await waiting).json().data.Deliveries
    const { NextCursor: cursor } = (await ask(there, bearer)).json().data
    expect(deliveries[0]).toMatchObject({ OrderID: 'slow' })
    const all = (await ask(here, bearer)).json().data.Deliveries.map(({ OrderID }: Item) => OrderID)
    expect(all.toSorted()).toEqual(['fast0', 'fast1', 'slow'])
    expect((await ask(there, bearer, `?after=${cursor}`)).json().data.Deliveries).toEqual([])
  },
)

it('a token that expires ends its stream and its long poll', async () => {
  const service = await testApp({}, { withThreads: true })
  await service.app.listen({ port: 0 })
  const { email } = await addCustomer(service)
  const bearer = await token(service, email)
  const stream = await openStream(service, bearer)
  const waiting = ask(service, bearer, '?wait=60')
  service.clock.time += 3_600_000
  await stream.ended
  expect(stream.text()).toBe('retry: 2000\n\n')
  const answer = await waiting
  expect([answer.statusCode, answer.json().errorCode]).toEqual([401, 'TOKEN_EXPIRED'])
})

it('a stream and a long poll end when the server stops', async () => {
  const service = await testApp({}, { withThreads: true })
  await service.app.listen({ port: 0 })
  const bearer = await token(service, (await addCustomer(service)).email)
  const stream = await openStream(service, bearer)
  const waiting = ask(service, bearer, '?wait=60')
  await new Promise(setImmediate)
  await service.app.close()
  await stream.ended
  expect((await waiting).json().data.Deliveries).toEqual([])
})
