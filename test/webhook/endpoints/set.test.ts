import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { operating } from '../../support/app/operating.ts'
import { addSupplier, readingSupplier } from '../../support/app/supplier.ts'
import { testApp } from '../../support/app/test-app.ts'
import { WEBHOOK_ALLOW } from '../../support/network/allowed-ports.ts'
import { makeCertificate } from '../../support/network/certificate.ts'
import { until } from '../../support/until.ts'
import { answering, startReceiver } from '../../support/webhooks/webhook-receiver.ts'

const VALUE = 'Bearer gateway-token-31415'
const reply = { status: 200, body: 'thank you' }
const receiver = await startReceiver(answering(reply))
const elsewhere = await startReceiver(answering(reply))

describe('a change of an endpoint', async () => {
  const service = await testApp(WEBHOOK_ALLOW, { withThreads: true })
  const { clock, store, log } = service
  const { get, post, operator } = await operating(service)
  const supplier = await readingSupplier(service)
  const other = await readingSupplier(service)
  beforeEach(() => {
    clock.time += 1000
    reply.body = 'thank you'
  })
  afterEach(async () => {
    for (const { id } of await store.webhooks.list()) await store.webhooks.remove(id)
  })

  const add = async (more: object = {}): Promise<string> => {
    const answer = await post('/Webhook/endpoints', { URL: receiver.url, ...more })
    expect(answer.statusCode, answer.payload).toBe(200)
    return answer.json().data.Endpoint.EndpointID
  }
  const change = (id: string, what: string, body?: object) => post(`/Webhook/endpoint/${id}/${what}`, body)
  const set = async (id: string, body: object) => {
    const answer = await change(id, 'set', body)
    expect(answer.statusCode, answer.payload).toBe(200)
    return answer.json().data.Endpoint
  }
  const refused = async (id: string, body: object) => {
    const before = await store.webhooks.find(id)
    const answer = await change(id, 'set', body)
    expect(await store.webhooks.find(id)).toEqual(before)
    return [answer.statusCode, answer.json().errorCode]
  }
  const events = async (endpointId: string) =>
    (await store.audit.list({ limit: 100, action: 'webhook.set' })).filter(
      ({ details }) => details.endpointId === endpointId,
    )
  /** The orders of deliveries that came to a URL. */
  const cameTo = (query: string) =>
    receiver.received
      .filter(({ url, body }) => url?.endsWith(query) && !body.includes('teslim.test'))
      .map(({ body, headers }) => ({ order: JSON.parse(body).data.OrderID as string, headers }))

  it('replaces what it names, and keeps the rest, its secret and its place', async () => {
    const full = {
      Customer: supplier.customer.email,
      Statuses: [1],
      Duplicates: false,
      GiveUpSeconds: 60,
      CA: makeCertificate().certificate,
    }
    const id = await add(full)
    await change(id, 'pause')
    const { Endpoint } = (await get(`/Webhook/endpoint/${id}`)).json().data
    const { secret, position } = (await store.webhooks.find(id)) ?? {}
    let expected = { ...Endpoint, Cursor: expect.any(String) }
    for (const [body, shown] of [
      [{ URL: `${receiver.url}?to=other` }, { URL: `${receiver.url}?to=other` }],
      [
        { Customer: other.customer.id, Statuses: [3, 0, 3], Duplicates: true, GiveUpSeconds: 120 },
        {
          CustomerID: other.customer.id,
          Customer: other.customer.email,
          Statuses: [0, 3],
          Duplicates: true,
          GiveUp: 120,
        },
      ],
      [
        { Customer: null, Statuses: null, GiveUpSeconds: null, CA: null, Headers: { 'X-Tenant': '7' } },
        { CustomerID: null, Customer: undefined, Statuses: null, GiveUp: null, HasCA: false, Headers: ['X-Tenant'] },
      ],
      [
        { CA: full.CA, Headers: { 'x-tenant': null } },
        { HasCA: true, Headers: [] },
      ],
    ] as const) {
      expected = { ...expected, ...shown }
      expect(await set(id, body)).toEqual(expected)
      expect((await get(`/Webhook/endpoint/${id.toUpperCase()}`)).json().data.Endpoint).toEqual(expected)
    }
    expect(await store.webhooks.find(id)).toMatchObject({ secret, position })
  })

  it('is in the audit log with what was named, and without values', async () => {
    const id = await add()
    await set(id, {
      URL: `${receiver.url}?token=hidden`,
      Statuses: null,
      Headers: { Authorization: VALUE, 'X-Old': null },
    })
    await set(id, { Customer: supplier.customer.id, GiveUpSeconds: 60 })
    const by = { actor: `console:${operator.email}`, action: 'webhook.set', address: '127.0.0.1' }
    expect(await events(id)).toMatchObject([
      {
        ...by,
        customerId: null,
        details: {
          endpointId: id,
          changed: ['url', 'statuses', 'headers'],
          url: `${receiver.url}?***`,
          headersSet: ['Authorization'],
          headersRemoved: ['X-Old'],
        },
      },
      { ...by, customerId: supplier.customer.id, details: { endpointId: id, changed: ['customer', 'giveUp'] } },
    ])
    expect(JSON.stringify([log, await store.audit.list({ limit: 100 })])).not.toMatch(/token=hidden|gateway-token/)
  })

  it.each([
    ['nothing', {}, 400, 'INVALID_REQUEST'],
    ['an unknown setting', { From: 'start' }, 400, 'INVALID_REQUEST'],
    ['a URL that is null', { URL: null }, 400, 'INVALID_REQUEST'],
    ['a private address', { URL: 'https://10.0.0.1/', Duplicates: false }, 400, 'WEBHOOK_ADDRESS_FORBIDDEN'],
    ['a customer that does not exist', { Customer: 'nobody@example.com' }, 404, 'CUSTOMER_NOT_FOUND'],
    ['a CA that is no certificate', { CA: 'x' }, 400, 'WEBHOOK_CA_INVALID'],
    ['a signature', { Headers: { 'Webhook-Signature': 'v1,x' } }, 400, 'WEBHOOK_HEADER_INVALID'],
  ])('is refused as a whole with %s', async (_what, wrong, status, code) => {
    const id = await add({ Statuses: [1] })
    expect(await refused(id, wrong)).toEqual([status, code])
    // Valid settings beside it do not count.
    if (Object.keys(wrong).length > 0)
      expect(await refused(id, { GiveUpSeconds: 90, ...wrong })).toEqual([status, code])
  })

  it('is refused for a customer that was removed, and to an endpoint that is not there', async () => {
    const { customer } = await addSupplier(service)
    const id = await add({ Customer: customer.id })
    await service.customers.remove(customer.id, true)
    expect(await refused(id, { Customer: customer.id })).toEqual([409, 'CUSTOMER_REMOVED'])
    expect(await set(id, { Customer: other.customer.id })).toMatchObject({
      CustomerID: other.customer.id,
      PausedReason: null,
    })
    await change(id, 'remove')
    for (const missing of [id, 'x', '%00']) {
      const answer = await change(missing, 'set', { Duplicates: false })
      expect([answer.statusCode, answer.json().errorCode]).toEqual([404, 'WEBHOOK_NOT_FOUND'])
    }
  })

  it('and others at once lose nothing: neither settings nor headers', async () => {
    const id = await add()
    const names = Array.from({ length: 6 }, (_, n) => `X-${n}`)
    const bodies = [...names.map((name) => ({ Headers: { [name]: VALUE } })), { Statuses: [2] }, { Duplicates: false }]
    await Promise.all(bodies.map((body) => set(id, body)))
    const { Endpoint } = (await get(`/Webhook/endpoint/${id}`)).json().data
    expect(Endpoint).toMatchObject({ Statuses: [2], Duplicates: false, URL: receiver.url })
    expect([...Endpoint.Headers].sort()).toEqual(names)
    expect(await set(id, { Headers: { 'X-6': VALUE, 'X-7': VALUE } })).toMatchObject({ Headers: { length: 8 } })
    expect(await refused(id, { Headers: { 'X-8': VALUE } })).toEqual([400, 'WEBHOOK_HEADER_INVALID'])
    expect(await set(id, { Headers: { 'X-7': null, 'X-8': VALUE } })).toMatchObject({ Headers: { length: 8 } })
  })

  it('leads no value of a header to another host unless the header is named again', async () => {
    const id = await add({ Customer: supplier.customer.id })
    const changeInStore = store.webhooks.change
    store.webhooks.change = async (...sent) => {
      store.webhooks.change = changeInStore
      await set(id, { Headers: { 'X-Late': VALUE } })
      return changeInStore(...sent)
    }
    // One that comes in meanwhile does not go along either.
    expect((await change(id, 'set', { URL: elsewhere.url })).json().errorCode).toBe('WEBHOOK_HEADER_INVALID')
    expect(await store.webhooks.find(id)).toMatchObject({ url: receiver.url })
    await set(id, { Headers: { Authorization: VALUE, 'X-Tenant': '7', 'X-Late': null } })
    for (const Headers of [undefined, { 'X-Tenant': null }, { 'X-Tenant': '8', 'X-New': 'n' }]) {
      const before = await store.webhooks.find(id)
      const answer = await change(id, 'set', { URL: elsewhere.url, Headers })
      expect(answer.json()).toMatchObject({
        errorCode: 'WEBHOOK_HEADER_INVALID',
        message: expect.stringContaining(`headers Authorization${Headers ? '' : ', X-Tenant'}: set or remove`),
      })
      expect(answer.payload).not.toContain('gateway-token')
      expect(await store.webhooks.find(id)).toEqual(before)
    }
    await set(id, { URL: elsewhere.url, Headers: { authorization: null, 'x-tenant': '9' } })
    await change(id, 'test')
    expect(elsewhere.lastTest().headers).toMatchObject({ 'x-tenant': '9' })
    expect(JSON.stringify(elsewhere.received)).not.toMatch(/gateway-token|authorization/)
    await set(id, { URL: `${elsewhere.url}/path?a=1` })
  })

  it('of a filter still sends what waits, and then only what the new one wants', async () => {
    const query = '?filter'
    const id = await add({ URL: receiver.url + query, Customer: supplier.customer.id })
    reply.status = 422
    const { ReceiptID: waits } = await supplier.deliver({ OrderID: 'f-1', Status: 1, ProductID: 'A' })
    await until('it failed', async () => (await store.webhooks.find(id))?.failing === 1)
    await set(id, { Customer: null, Statuses: [2] })
    reply.status = 200
    await supplier.deliver({ OrderID: 'f-2', Status: 1, ProductID: 'A' })
    await other.deliver({ OrderID: 'f-3', Status: 2, ProductID: 'A' })
    await until('it came', () => cameTo(query).some(({ order }) => order === 'f-3'))
    const [told] = (await get(`/Webhook/endpoint/${id}/deliveries?receiptId=${waits}`)).json().data.Deliveries
    expect(told).toMatchObject({ State: 'failing', Failures: 1 })
    await store.webhooks.replay(id, [{ position: (await store.webhooks.failing(id, 1))[0]?.position ?? 0, lane: 0 }], 0)
    await until('what waited came', () => cameTo(query).filter(({ order }) => order === 'f-1').length === 2)
    expect(cameTo(query).map(({ order }) => order)).not.toContain('f-2')
  })

  it('of a filter makes nobody believe that an endpoint has what it did not get, or has not what it got', async () => {
    const query = '?told'
    const id = await add({ URL: receiver.url + query, Customer: supplier.customer.id, Statuses: [1] })
    const deliver = async (Status: number) =>
      (await supplier.deliver({ OrderID: 'told', Status, ProductID: 'A' })).ReceiptID
    const states = async () => {
      const { Deliveries } = (await get(`/Webhook/endpoint/${id}/deliveries?orderId=told`)).json().data
      return Deliveries.map(({ Status, State }: { Status: number; State: string }) => `${Status} ${State}`).reverse()
    }
    const settled = () =>
      until('nothing is left', async () => (await get(`/Webhook/endpoint/${id}`)).json().data.Endpoint.Pending === 0)
    await deliver(1)
    const leftOut = await deliver(3)
    await settled()
    await set(id, { Statuses: [3] })
    await deliver(1)
    await deliver(3)
    await settled()
    const expected = ['1 confirmed', '3 not-wanted', '1 not-wanted', '3 confirmed']
    expect(await states()).toEqual(expected)
    // Also once no journal says so any more, as after 7 days.
    const { fates } = store.webhooks
    const withoutJournal = async (...sent: Parameters<typeof fates>) =>
      new Map([...(await fates(...sent))].filter(([, { state }]) => state !== 'confirmed'))
    Object.assign(store.webhooks, { fates: withoutJournal })
    expect(await states()).toEqual(expected)
    await set(id, { Statuses: null })
    await set(id, { Customer: null })
    expect(await states()).toEqual(expected)
    Object.assign(store.webhooks, { fates })
    expect((await change(id, 'replay', { ReceiptID: leftOut })).statusCode).toBe(200)
    await settled()
    expect(await states()).toEqual(['1 confirmed', '3 confirmed', '1 not-wanted', '3 confirmed'])
  })

  it('of headers shows no value: in no answer, no log and nothing that a receiver says', async () => {
    const reader = await operating(service, { scope: 'operator:read' })
    const id = await add()
    reply.body = `you sent ${VALUE} and gateway-token-31415`
    reply.status = 500
    const changed = await change(id, 'set', { Headers: { Authorization: VALUE } })
    await supplier.deliver({ OrderID: 'masked', Status: 1, ProductID: 'A' })
    await until('it failed', async () => (await store.webhooks.find(id))?.failing === 1)
    const answers = [
      changed,
      await change(id, 'set', { Headers: { Authorization: VALUE, 'X-B': 'b\n' } }),
      await change(id, 'test'),
      await change(id, 'pause'),
      await change(id, 'rotateSecret', { OverlapHours: 1 }),
      await change(id, 'replay', { SetAside: true }),
    ]
    for (const who of [{ get }, reader])
      for (const path of [
        '/Webhook/endpoints',
        `/Webhook/endpoint/${id}`,
        `/Webhook/endpoint/${id}/attempts`,
        '/Operator/health',
        '/Operator/audit?limit=100',
      ])
        answers.push(await who.get(path))
    reply.status = 200
    expect(answers.filter(({ payload }) => payload.includes('"Authorization"')).length).toBeGreaterThan(5)
    expect(JSON.stringify([answers.map(({ payload }) => payload), log])).not.toContain('gateway-token')
    expect(answers[2]?.payload).toContain('[removed]')
  })
})
