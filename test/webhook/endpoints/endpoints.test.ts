import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemRandom } from '#src/lib/random.ts'
import { createCursors } from '#src/purchase/cursors.ts'
import { purge } from '../../store/conformance/purging.ts'
import { failure } from '../../support/app/failure.ts'
import { operating } from '../../support/app/operating.ts'
import { addSupplier, readingSupplier } from '../../support/app/supplier.ts'
import { testApp } from '../../support/app/test-app.ts'
import { messageViolation } from '../../support/docs/contract.ts'
import { WEBHOOK_ALLOW } from '../../support/network/allowed-ports.ts'
import { makeCertificate } from '../../support/network/certificate.ts'
import { webhook as newWebhook } from '../../support/store/store-rows.ts'
import { until } from '../../support/until.ts'
import { answering, signatureOf, startReceiver } from '../../support/webhooks/webhook-receiver.ts'

const HOUR = 3_600_000
const NOBODY = '01a1fd40-0c1e-7b52-9a0f-3f5d2c1b7e64'
const iso = (milliseconds: number) => new Date(milliseconds).toISOString()
const reply = { status: 200, body: 'thank you' }
const receiver = await startReceiver(answering(reply))

describe('operators', async () => {
  const start = async () => testApp({ TESLIM_TOKEN_TTL: '86400', ...WEBHOOK_ALLOW }, { withThreads: true })
  const service = await start()
  const { clock, store, log } = service
  const { get, post, operator } = await operating(service)
  const supplier = await readingSupplier(service)
  const other = await readingSupplier(service)
  beforeEach(() => {
    clock.time += 1000
    reply.status = 200
  })
  afterEach(async () => {
    for (const { id } of await store.webhooks.list()) await store.webhooks.remove(id)
  })
  /** Paused at once, so that nothing but what the tests ask for is sent. */
  const add = async (more: object = {}) => {
    const answer = await post('/Webhook/endpoints', { URL: receiver.url, ...more })
    expect(answer.statusCode, answer.payload).toBe(200)
    const { Endpoint, Secret } = answer.json().data
    const paused = await post(`/Webhook/endpoint/${Endpoint.EndpointID}/pause`)
    expect(paused.statusCode).toBe(200)
    return { id: Endpoint.EndpointID as string, endpoint: Endpoint, secret: Secret as string }
  }
  const change = (id: string, what: string, body?: object) => post(`/Webhook/endpoint/${id}/${what}`, body)
  const events = async (endpointId?: string) =>
    (await store.audit.list({ limit: 100, action: 'webhook.' }))
      .filter(({ details }) => endpointId === undefined || details.endpointId === endpointId)
      .map(({ actor, action, address, customerId, details }) => ({ actor, action, address, customerId, details }))
  const event = (action: string, details = {}, customerId: string | null = null) => ({
    actor: `console:${operator.email}`,
    action,
    address: '127.0.0.1',
    customerId,
    details,
  })
  it('list endpoints by one piece of work, however many ask at once, and see what was added before they asked', async () => {
    const { list } = store.webhooks
    const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>()
    let runs = 0
    Object.assign(store.webhooks, {
      list: async () => {
        const found = await list()
        if (runs++ === 0) await mayGoOn
        return found
      },
    })
    const first = get('/Webhook/endpoints')
    await until('the first is under way', () => runs === 1)
    const { id } = await add()
    const others = Array.from({ length: 20 }, () => get('/Webhook/endpoints'))
    // Once these are answered all others have asked.
    for (let times = 0; times < 3; times++) expect((await get(`/Webhook/endpoint/${id}`)).statusCode).toBe(200)
    goOn()
    const idsIn = async (answer: ReturnType<typeof get>): Promise<string[]> =>
      (await answer).json().data.Endpoints.map(({ EndpointID }: { EndpointID: string }) => EndpointID)
    expect(await idsIn(first)).not.toContain(id)
    for (const answer of others) expect(await idsIn(answer)).toContain(id)
    // Adding one reads the list, too.
    expect(runs).toBeLessThanOrEqual(4)
    Object.assign(store.webhooks, { list })
  })

  const cursorOf = async (who: { get: typeof get }, query = '') =>
    (await who.get(`/Purchase/feed?payload=none${query}`)).json().data.NextCursor as string

  it('add an endpoint, and see its secret once', async () => {
    const answer = await post('/Webhook/endpoints', {
      URL: `${receiver.url}?token=hidden`,
      Customer: supplier.customer.email.toUpperCase(),
      Statuses: [3, 0, 3],
      Duplicates: false,
      GiveUpSeconds: 259_200,
      CA: `anything\n${makeCertificate().certificate}`,
    })
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store, no-transform'])
    const { Endpoint, Secret } = answer.json().data
    expect(Endpoint).toEqual({
      EndpointID: expect.stringMatching(/^[0-9a-f-]{36}$/),
      URL: `${receiver.url}?token=hidden`,
      CustomerID: supplier.customer.id,
      Customer: supplier.customer.email,
      Statuses: [0, 3],
      Duplicates: false,
      State: 'active',
      PausedReason: null,
      PausedAt: null,
      Pending: 0,
      PendingAtLeast: false,
      Waiting: 0,
      Failing: 0,
      SetAside: 0,
      PurgedUnsent: 0,
      LastSuccessAt: null,
      FailingSince: null,
      NextTryAt: null,
      BehindSeconds: 0,
      CreatedAt: iso(clock.now()),
      GiveUp: 259_200,
      HasCA: true,
      Headers: [],
      Cursor: expect.stringMatching(/^c/),
      Replay: null,
    })
    expect(Secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const { EndpointID } = Endpoint
    const rest = [await get('/Webhook/endpoints'), await get(`/Webhook/endpoint/${EndpointID.toUpperCase()}`)]
    for (const { statusCode, payload } of rest) {
      expect(statusCode).toBe(200)
      expect(payload).not.toContain('whsec_')
    }
    const done = await events(EndpointID)
    const details = {
      endpointId: EndpointID,
      url: `${receiver.url}?***`,
      statuses: [0, 3],
      duplicates: false,
      giveUpSeconds: 259_200,
      ca: 'own',
    }
    expect(done).toEqual([event('webhook.add', details, supplier.customer.id)])
    expect(JSON.stringify([log, await events()])).not.toMatch(/whsec_|token=hidden/)
    expect((await store.webhooks.find(EndpointID))?.ca).not.toContain('anything')
  })

  it.each([
    ['an empty URL', { URL: '' }, 400, 'INVALID_REQUEST'],
    ['http to a host that is not allowed', { URL: 'http://192.0.2.1/' }, 400, expect.stringMatching(/^WEBHOOK_/)],
    ['a private address', { URL: 'https://10.0.0.1/' }, 400, 'WEBHOOK_ADDRESS_FORBIDDEN'],
    ['a user name', { URL: 'https://a:b@backoffice.example/' }, 400, 'WEBHOOK_URL_INVALID'],
    ['a customer that does not exist', { Customer: 'nobody@example.com' }, 404, 'CUSTOMER_NOT_FOUND'],
    ['a cursor that is none', { From: 'cAAAA' }, 400, 'CURSOR_INVALID'],
    ['a time to come', { From: '2999-01-01T00:00:00Z' }, 400, 'INVALID_REQUEST'],
    ['a CA that is no certificate', { CA: 'x' }, 400, 'WEBHOOK_CA_INVALID'],
    [
      'a CA that only looks like a certificate',
      { CA: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' },
      400,
      'WEBHOOK_CA_INVALID',
    ],
    ['a CA that is a private key', { CA: makeCertificate().key }, 400, 'WEBHOOK_CA_INVALID'],
    ['a long CA', { CA: makeCertificate().certificate.repeat(200) }, 400, 'WEBHOOK_CA_INVALID'],
  ])('add none with %s', async (_what, wrong, status, code) => {
    const before = (await store.webhooks.list()).length
    const answer = await post('/Webhook/endpoints', { URL: receiver.url, ...wrong })
    expect([answer.statusCode, answer.json().errorCode]).toEqual([status, code])
    const { errorCode, errors, message } = answer.json()
    if (errorCode !== 'INVALID_REQUEST') expect(errors).toEqual([{ path: `/${Object.keys(wrong)[0]}`, message }])
    expect(await store.webhooks.list()).toHaveLength(before)
  })

  it('add none for a customer that was removed', async () => {
    const { customer } = await addSupplier(service)
    await service.customers.remove(customer.id, false)
    const answer = await post('/Webhook/endpoints', { URL: receiver.url, Customer: customer.id })
    const errors = [{ path: '/Customer', message: 'The customer was removed.' }]
    expect([answer.statusCode, answer.json()]).toEqual([409, failure('CUSTOMER_REMOVED', { errors })])
  })

  it('may begin with a cursor of all customers or of the customer of the endpoint, and of nobody else', async () => {
    const full = { get }
    await supplier.deliver({ OrderID: 'begin', Status: 1, ProductID: 'A' })
    const cursors = {
      all: await cursorOf(full),
      own: await cursorOf(supplier),
      asOperator: await cursorOf(full, `&customer=${supplier.customer.id}`),
      foreign: await cursorOf(other),
    }
    await supplier.deliver({ OrderID: 'begin', Status: 2, ProductID: 'A' })
    const Customer = supplier.customer.id
    for (const From of [cursors.all, cursors.own, cursors.asOperator]) {
      const { endpoint } = await add({ Customer, From })
      expect([endpoint.Cursor === '', endpoint.Pending]).toEqual([false, 1])
    }
    const { endpoint } = await add({ From: cursors.all })
    expect(endpoint.Cursor).toBe(cursors.all)
    for (const wrong of [{ From: cursors.own }, { From: cursors.foreign }, { Customer, From: cursors.foreign }]) {
      const answer = await post('/Webhook/endpoints', { URL: receiver.url, ...wrong })
      expect([answer.statusCode, answer.json().errorCode]).toEqual([400, 'CURSOR_INVALID'])
    }
  })

  it('may begin now, with the first delivery, or at a time, and read on from the cursor of the endpoint', async () => {
    await supplier.deliver({ OrderID: 'times', Status: 1, ProductID: 'A' })
    clock.time += HOUR
    const since = iso(clock.now())
    clock.time += 1000
    await supplier.deliver({ OrderID: 'times', Status: 2, ProductID: 'A' })
    await other.deliver({ OrderID: 'times', Status: 0, ProductID: 'A' })
    clock.time += 2000
    const begun = async (From: string, more = {}) => {
      const { endpoint } = await add({ From, ...more })
      const { Deliveries } = (await get(`/Purchase/feed?after=${endpoint.Cursor}`)).json().data
      return { endpoint, Deliveries }
    }
    expect(await begun('now')).toMatchObject({ endpoint: { Pending: 0, BehindSeconds: 0 }, Deliveries: [] })
    const start = await begun('start')
    expect(start.Deliveries.length).toBe(start.endpoint.Pending)
    expect(start.endpoint.BehindSeconds).toBeGreaterThanOrEqual(3602)
    expect(await begun(since)).toMatchObject({
      endpoint: { Pending: 2, BehindSeconds: 2 },
      Deliveries: [{ OrderID: 'times', Status: 2 }, { Status: 0 }],
    })
    const { endpoint: some } = await add({ From: since, Statuses: [0], Customer: other.customer.id })
    expect(some).toMatchObject({ BehindSeconds: 2 })
    expect((await begun(since, { Statuses: [3] })).endpoint).toMatchObject({ Pending: 0, BehindSeconds: 0 })
  })

  it('pause, resume and remove it; who is paused keeps the reason', async () => {
    const { id } = await add()
    const pausedAt = iso(clock.now())
    clock.time += 1000
    const paused = { State: 'paused', PausedReason: 'operator', PausedAt: pausedAt }
    expect((await change(id, 'pause')).json().data.Endpoint).toMatchObject(paused)
    const active = { State: 'active', PausedReason: null, PausedAt: null }
    expect((await change(id.toUpperCase(), 'resume')).json().data.Endpoint).toMatchObject(active)
    expect((await change(id, 'resume')).json().data.Endpoint).toMatchObject(active)
    await store.webhooks.change(id, { paused: { reason: 'gone', at: 5 } })
    const gone = { PausedReason: 'gone', PausedAt: iso(5) }
    expect((await change(id, 'pause')).json().data.Endpoint).toMatchObject(gone)
    expect((await change(id, 'remove')).json().data).toEqual({ EndpointID: id })
    expect((await change(id, 'remove')).statusCode).toBe(404)
    expect(await store.webhooks.find(id)).toBeUndefined()
    const done = await events(id)
    expect(done.map(({ action }) => action)).toEqual([
      'webhook.add',
      'webhook.pause',
      'webhook.pause',
      'webhook.resume',
      'webhook.resume',
      'webhook.pause',
      'webhook.remove',
    ])
    expect(done.at(-1)).toEqual(event('webhook.remove', { endpointId: id, url: receiver.url }))
  })

  it('pause and resume it at once: what comes in after the answer is not sent, or is', async () => {
    const idOf = async (query: string): Promise<string> => {
      const answer = await post('/Webhook/endpoints', { URL: `${receiver.url}?${query}` })
      return answer.json().data.Endpoint.EndpointID
    }
    const [toggled] = [await idOf('toggled'), await idOf('witness')]
    const cameTo = (query: string) =>
      receiver.received.filter(({ url }) => url?.endsWith(`?${query}`)).map(({ body }) => JSON.parse(body).data.OrderID)
    const sent: string[] = []
    for (let round = 0; round < 5; round++) {
      await change(toggled, 'pause')
      await supplier.deliver({ OrderID: `paused-${round}`, Status: 1, ProductID: 'A' })
      await until('the other endpoint gets it', () => cameTo('witness').includes(`paused-${round}`))
      expect(cameTo('toggled')).toEqual(sent)
      await change(toggled, 'resume')
      sent.push(`paused-${round}`)
      await until('it gets what it missed', () => cameTo('toggled').length === sent.length)
    }
  })

  it('send a test, which is signed and written down', async () => {
    const { id, secret } = await add()
    const before = receiver.tests().length
    const sent = await change(id, 'test')
    const { Attempt } = sent.json().data
    expect(Attempt).toEqual({
      At: iso(clock.now()),
      ReceiptID: null,
      OrderID: null,
      Test: true,
      Status: 200,
      Error: null,
      Milliseconds: expect.any(Number),
      Response: 'thank you',
      NextTryAt: null,
    })
    expect(receiver.tests()).toHaveLength(before + 1)
    const { headers, body } = receiver.lastTest()
    expect(JSON.parse(body)).toEqual({ type: 'teslim.test', timestamp: iso(clock.now()), data: {} })
    expect(messageViolation(JSON.parse(body), headers)).toBeUndefined()
    expect(headers).toMatchObject({
      'webhook-id': expect.stringMatching(/^test_/),
      'webhook-signature': signatureOf(secret, headers, body),
    })
    reply.status = 500
    expect((await change(id, 'test')).json().data.Attempt).toMatchObject({ Status: 500, Error: 'status 500' })
    const { Attempts, Minutes } = (await get(`/Webhook/endpoint/${id}/attempts`)).json().data
    expect(Attempts.map(({ Status }: { Status: number }) => Status)).toEqual([500, 200])
    expect([Attempts[1], Minutes]).toEqual([Attempt, []])
    const [tested] = (await events(id)).filter(({ action }) => action === 'webhook.test').slice(-1)
    expect(tested).toEqual(event('webhook.test', { endpointId: id, status: 500, error: 'status 500' }))
  })

  it('who may only read see the first segment of the path of a URL, and nothing of it after that; so does the audit log', async () => {
    const reader = await operating(service, { scope: 'operator:read' })
    const token = '/services/T000/B000/SLACKTOKEN'
    const url = new URL(`${token}?key=QUERYTOKEN`, receiver.url).href
    const masked = new URL('/services/***?***', receiver.url).href
    const { id } = await add({ URL: url })
    Object.assign(reply, { status: 404, body: `Cannot POST ${token}: key=QUERYTOKEN of T000/B000 has no SLACKTOKEN.` })
    await change(id, 'test')
    reply.body = 'thank you'
    const routes = ['endpoints', `endpoint/${id}`, `endpoint/${id}/attempts`]
    const read = async (path: string) => (await reader.get(path)).payload
    const seen = await Promise.all([...routes.map((route) => `/Webhook/${route}`), '/Operator/audit'].map(read))
    expect(seen.join()).not.toMatch(/T000|B000|TOKEN/)
    expect(seen.join()).toContain(masked)
    await change(id, 'set', { URL: `${url}2`, Duplicates: false })
    await change(id, 'remove')
    const urls = (await events(id)).flatMap(({ details }) => details.url ?? [])
    expect(urls).toEqual([masked, masked, masked])
    expect(JSON.stringify([log, await store.audit.list({ limit: 100 })])).not.toMatch(/T000|B000|TOKEN/)
  })

  it('who may only read see neither the query of a URL nor what a host answers to a test, whatever its URL is by now', async () => {
    const reader = await operating(service, { scope: 'operator:read' })
    const { id } = await add({ URL: `${receiver.url}/path?token=hidden&a=?` })
    const publicId = (await add({ URL: 'https://backoffice.example/hook' })).id
    await change(id, 'test')
    const attempt = { at: clock.now(), receiptId: null, status: 200, error: null, milliseconds: 1, nextAt: null }
    await store.webhooks.recordAttempt(publicId, { ...attempt, position: null, response: 'public' })
    await change(id, 'set', { URL: 'https://backoffice.example/path?token=hidden&a=?' })
    const seen = async (who: typeof reader) => {
      const all = (await who.get('/Webhook/endpoints')).json().data.Endpoints
      const { Endpoint } = (await who.get(`/Webhook/endpoint/${id}`)).json().data
      const [test] = (await who.get(`/Webhook/endpoint/${id}/attempts`)).json().data.Attempts
      const [other] = (await who.get(`/Webhook/endpoint/${publicId}/attempts`)).json().data.Attempts
      const listed = all.find(({ EndpointID }: { EndpointID: string }) => EndpointID === id)
      return { listed: listed.URL, shown: Endpoint.URL, test: [test.Status, test.Response], other: other.Response }
    }
    const masked = 'https://backoffice.example/path?***'
    expect(await seen(reader)).toEqual({ listed: masked, shown: masked, test: [200, null], other: null })
    const url = 'https://backoffice.example/path?token=hidden&a=?'
    expect(await seen({ ...reader, get })).toEqual({
      listed: url,
      shown: url,
      test: [200, 'thank you'],
      other: 'public',
    })
  })

  it('replace the secret, twice at once, too: all sign until the overlap is over', async () => {
    const { id, secret } = await add()
    const signatures = async () => {
      await change(id, 'test')
      return String(receiver.lastTest().headers['webhook-signature']).split(' ')
    }
    const answers = await Promise.all([1, 2].map(() => change(id, 'rotateSecret', { OverlapHours: 0.5 })))
    const secrets = answers.map((answer) => answer.json().data.Secret as string)
    expect(new Set([...secrets, secret]).size).toBe(3)
    const made = await signatures()
    const { headers, body } = receiver.lastTest()
    expect(made.sort()).toEqual(secrets.map((each) => signatureOf(each, headers, body)).sort())
    clock.time += HOUR / 2
    expect(await signatures()).toHaveLength(1)
    await change(id, 'rotateSecret', { OverlapHours: 0 })
    expect(await signatures()).toHaveLength(1)
    const rotated = (await events(id)).filter(({ action }) => action === 'webhook.rotate-secret')
    expect(rotated.map(({ details }) => details.overlapSeconds)).toEqual([1800, 1800, 0])
  })

  it('send again a stretch, an order, one delivery, or what is set aside', async () => {
    const { ReceiptID } = await supplier.deliver({ OrderID: 'again', Status: 1, ProductID: 'A' })
    const { id } = await add({ Customer: supplier.customer.id })
    await supplier.deliver({ OrderID: 'again', Status: 2, ProductID: 'A' })
    const replay = async (body: object) => {
      const answer = await change(id, 'replay', body)
      expect(answer.statusCode, answer.payload).toBe(200)
      return answer.json().data
    }
    expect(await replay({ SetAside: true })).toMatchObject({ Deliveries: 0 })
    const one = { Deliveries: 1, Endpoint: { Waiting: 1, Pending: 2 } }
    expect(await replay({ ReceiptID: ReceiptID.toUpperCase() })).toMatchObject(one)
    expect(await replay({ OrderID: 'again', Customer: supplier.customer.email, Statuses: [1] })).toMatchObject({
      Deliveries: 0,
    })
    const stretch = { From: 'start', To: iso(clock.now()), Statuses: [0, 1] }
    const begun = await replay(stretch)
    expect(begun.Deliveries).toBeGreaterThanOrEqual(1)
    expect(begun.Endpoint).toMatchObject({ Waiting: 1, Replay: { Statuses: [0, 1], Added: 0, Percent: 0 } })
    const refused = await change(id, 'replay', { From: 'start' })
    expect([refused.statusCode, refused.json()]).toEqual([409, failure('WEBHOOK_REPLAY_RUNNING')])
    expect(await replay({ Cancel: true })).toMatchObject({ Deliveries: 0, Endpoint: { Replay: null } })
    // What was not sent yet is sent anyway.
    expect(await replay({ From: iso(clock.now()) })).toMatchObject({ Endpoint: { Waiting: 1 } })
    await replay({ Cancel: true })
    const done = (await events(id)).filter(({ action }) => action === 'webhook.replay')
    expect(done.map(({ details }) => details).slice(0, 5)).toEqual([
      { endpointId: id, setAside: true, deliveries: 0 },
      { endpointId: id, receiptId: ReceiptID, deliveries: 1 },
      { endpointId: id, order: true, statuses: [1], deliveries: 0 },
      { endpointId: id, from: 'start', to: stretch.To, statuses: [0, 1], deliveries: begun.Deliveries },
      { endpointId: id, cancel: true, deliveries: 0 },
    ])
  })

  it('see what became of a delivery, or of an order', async () => {
    const { ReceiptID } = await supplier.deliver({ OrderID: 'told', Status: 1, ProductID: 'A' })
    const { id } = await add({ Customer: supplier.customer.id, Statuses: [1] })
    const { ReceiptID: later } = await supplier.deliver({ OrderID: 'told', Status: 2, ProductID: 'A' })
    const told = async (query: string) => get(`/Webhook/endpoint/${id}/deliveries?${query}`)
    const { Deliveries } = (await told('orderId=told')).json().data
    expect(Deliveries).toMatchObject([
      { ReceiptID: later, OrderID: 'told', Status: 2, State: 'not-wanted' },
      { ReceiptID, OrderID: 'told', Status: 1, State: 'confirmed', At: null, AnswerStatus: null },
    ])
    expect((await told(`receiptId=${later}`)).json().data.Deliveries).toEqual(Deliveries.slice(0, 1))
    expect((await told('ORDERID=told&receiptId=')).json().data.Deliveries).toEqual(Deliveries)
    const { ReceiptID: foreign } = await other.deliver({ OrderID: 'foreign', Status: 1, ProductID: 'A' })
    expect((await told('orderId=foreign')).json().data.Deliveries).toMatchObject([
      { ReceiptID: foreign, State: 'not-wanted' },
    ])
    for (const [query, status, code] of [
      ['', 400, 'INVALID_REQUEST'],
      [`orderId=told&receiptId=${later}`, 400, 'INVALID_REQUEST'],
      ['orderId=unknown', 404, 'ORDER_NOT_FOUND'],
      [`receiptId=${NOBODY}`, 404, 'DELIVERY_NOT_FOUND'],
    ] as const) {
      const answer = await told(query)
      expect([query, answer.statusCode, answer.json().errorCode]).toEqual([query, status, code])
    }
  })

  it('send nothing again that the endpoint does not get, or has not got yet', async () => {
    const { ReceiptID: foreign } = await other.deliver({ OrderID: 'not', Status: 1, ProductID: 'A' })
    const { ReceiptID: left } = await supplier.deliver({ OrderID: 'not', Status: 2, ProductID: 'A' })
    const { id } = await add({ Customer: supplier.customer.id, Statuses: [1] })
    const { ReceiptID: pending } = await supplier.deliver({ OrderID: 'not', Status: 1, ProductID: 'A' })
    for (const [body, status, code] of [
      [{}, 400, 'INVALID_REQUEST'],
      [{ From: 'start', SetAside: true }, 400, 'INVALID_REQUEST'],
      [{ From: 'start', ReceiptID: left }, 400, 'INVALID_REQUEST'],
      [{ OrderID: 'not', Cancel: true }, 400, 'INVALID_REQUEST'],
      [{ SetAside: true, To: '2026-11-21' }, 400, 'INVALID_REQUEST'],
      [{ ReceiptID: left, Statuses: [1] }, 400, 'INVALID_REQUEST'],
      [{ From: 'start', Customer: supplier.customer.id }, 400, 'INVALID_REQUEST'],
      [{ From: 'start', To: 'start' }, 400, 'INVALID_REQUEST'],
      [{ From: 'start', To: await cursorOf(other) }, 400, 'CURSOR_INVALID'],
      [{ OrderID: 'unknown' }, 404, 'ORDER_NOT_FOUND'],
      [{ From: 'now' }, 400, 'INVALID_REQUEST'],
      [{ From: await cursorOf(other) }, 400, 'CURSOR_INVALID'],
      [{ ReceiptID: foreign }, 404, 'DELIVERY_NOT_FOUND'],
      [{ ReceiptID: NOBODY }, 404, 'DELIVERY_NOT_FOUND'],
      [{ ReceiptID: left }, 409, 'WEBHOOK_DELIVERY_LEFT_OUT'],
      [{ ReceiptID: pending }, 409, 'WEBHOOK_DELIVERY_PENDING'],
    ] as const) {
      const answer = await change(id, 'replay', body)
      expect([body, answer.statusCode, answer.json().errorCode]).toEqual([body, status, code])
    }
    expect((await get(`/Webhook/endpoint/${id}`)).json().data.Endpoint).toMatchObject({ Waiting: 0 })
  })

  it.each(['x', NOBODY, '%00', 'a%2Fb', 'ü'])('know no endpoint %s', async (id) => {
    const answers = [
      await get(`/Webhook/endpoint/${id}`),
      await get(`/Webhook/endpoint/${id}/attempts`),
      await get(`/Webhook/endpoint/${id}/deliveries?orderId=PO-1`),
      await change(id, 'pause'),
      await change(id, 'resume'),
      await change(id, 'replay', { SetAside: true }),
      await change(id, 'rotateSecret', { OverlapHours: 1 }),
      await change(id, 'test'),
      await change(id, 'remove'),
    ]
    for (const answer of answers)
      expect([answer.statusCode, answer.json().errorCode]).toEqual([404, 'WEBHOOK_NOT_FOUND'])
  })

  it('are told that a cursor lies among deliveries that were lost, and where to go on', async () => {
    const { id } = await add()
    const cursors = createCursors(store.secrets, systemRandom)
    const From = await cursors.seal(['feed', null], (await store.deliveries.lastPosition()) + 1)
    for (const answer of [
      await post('/Webhook/endpoints', { URL: receiver.url, From }),
      await change(id, 'replay', { From }),
    ]) {
      expect([answer.statusCode, answer.json().errorCode]).toEqual([410, 'DELIVERIES_LOST'])
      const [, cursor] = /go on with the cursor (\S+)$/.exec(answer.json().message) ?? []
      expect((await change(id, 'replay', { From: cursor })).statusCode).toBe(200)
      await change(id, 'replay', { Cancel: true })
    }
  })

  it('are told that deliveries after a cursor were removed', async () => {
    // A purge changes what the other tests count.
    const service = await start()
    const { get, post } = await operating(service)
    const supplier = await readingSupplier(service)
    await supplier.deliver({ OrderID: 'purged', Status: 1, ProductID: 'A' })
    const From = await cursorOf({ get }, '&limit=1')
    for (const Status of [2, 3]) await supplier.deliver({ OrderID: 'purged', Status, ProductID: 'A' })
    // It has nothing unsent, which a purge would keep.
    const { EndpointID } = (await post('/Webhook/endpoints', { URL: receiver.url })).json().data.Endpoint
    await post(`/Webhook/endpoint/${EndpointID}/pause`)
    const replay = (From: string) => post(`/Webhook/endpoint/${EndpointID}/replay`, { From })
    expect(await purge(service.store, service.clock.time + 1)).not.toMatchObject({ deliveries: 0 })
    for (const answer of [await post('/Webhook/endpoints', { URL: receiver.url, From }), await replay(From)]) {
      expect([answer.statusCode, answer.json()]).toEqual([
        410,
        {
          ...failure('CURSOR_PURGED', { errors: [{ path: '/From', message: expect.any(String) }] }),
          message: expect.stringContaining('begin with "start"'),
        },
      ])
    }
    const { Cursor } = (await replay('start')).json().data.Endpoint
    expect((await get(`/Purchase/feed?after=${Cursor}`)).statusCode).toBe(200)
  })

  it('add no more than 1,000', async () => {
    for (let count = 0; count < 1000; count++) await store.webhooks.add(newWebhook())
    const answer = await post('/Webhook/endpoints', { URL: receiver.url })
    expect([answer.statusCode, answer.json()]).toEqual([409, failure('WEBHOOK_TOO_MANY')])
  })
})
