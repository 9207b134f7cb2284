import { closeSync, openSync, readFileSync } from 'node:fs'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { Refusal } from '#src/audit/refusal-window.ts'
import { createRefusals } from '#src/audit/refusals.ts'
import { createRetention } from '#src/audit/retention.ts'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { makeApiKey } from '#src/customer/api-key.ts'
import { newId, systemRandom } from '#src/lib/random.ts'
import type { AuditStore } from '#src/store/store.ts'
import { inEnglish } from '../support/app/in-english.ts'
import { addCustomer, PASSWORD, type TestApp, testApp } from '../support/app/test-app.ts'
import { auditEvent } from '../support/store/store-rows.ts'
import { runSql, storesOfRun } from '../support/store/stores.ts'

/** What the log got since it was last asked, without the time. */
async function refused({ app, store, clock }: TestApp, more = {}) {
  await app.flushRefusals()
  const events = await store.audit.list({ limit: 1000, ...more })
  for (const { at } of events) expect(at).toBe(clock.now())
  clock.time += 60_000
  return events.map(({ at: _, details, ...event }) => ({ ...event, details: inEnglish(details) }))
}

async function withKeys(service: TestApp) {
  const { store, customers, clock } = service
  const { id, email } = await addCustomer(service, { authority: ['SKU-*'] })
  const apiKeys = createApiKeys({ store, customers, clock, random: systemRandom })
  const deliver = (key: string | undefined, payload: unknown, headers = {}) =>
    service.app.inject({
      method: 'POST',
      url: '/Purchase/update',
      headers: { ...(key !== undefined && { ApiKey: key }), 'x-request-id': 'my-request', ...headers },
      payload: typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload),
    })
  return { id, email, apiKeys, deliver, issue: (lifetime?: number) => apiKeys.issue(id, '', lifetime) }
}

const event = (action: string, errorCode: string, reason: string | null, customerId: string | null = null) => ({
  actor: 'api',
  action,
  customerId,
  address: '127.0.0.1',
  requestId: 'my-request',
  refusalId: null as unknown,
  orderId: null as string | null,
  keyId: null as string | null,
  details: reason === null ? { errorCode } : { errorCode, reason },
})

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe.each(storesOfRun())('in the audit log on %s', async (kind, emptyStore) => {
  // Closed after the store: closing a file drops the locks that this process has on it.
  const files: number[] = []
  afterAll(() => {
    for (const file of files) closeSync(file)
  })
  const service = await testApp(await emptyStore())
  const { app, clock, customers } = service
  const { id, email, apiKeys, deliver, issue } = await withKeys(service)
  const headers = { 'x-request-id': 'my-request' }
  const since = async () => refused(service, { from: clock.now() })
  // What the test before left behind lies a minute back, and its customer is read again.
  beforeEach(async () => {
    await app.flushRefusals()
    clock.time += 60_000
  })

  it('a refused login is recorded with its reason, and with its customer if known', async () => {
    const login = (body: unknown, more = {}) => service.login(body, { headers: { ...headers, ...more } })
    const refusal = (reason: string, whose: string | null = null) =>
      event('login.refused', 'LOGIN_REFUSED', reason, whose)
    await login({ Email: email, Password: 'wrong-password' })
    await login({ Email: 'nobody@example.com', Password: PASSWORD })
    await login({ Email: email, Password: PASSWORD }, { 'h-region-code': 'DE' })
    await customers.disable(id)
    await login({ Email: email, Password: PASSWORD })
    await customers.enable(id)
    await login({ Email: email })
    await login('{')
    await login({ Email: email, Password: PASSWORD }, { authorization: 'Bearer x' })
    await login({ Email: email, Password: PASSWORD }, { 'content-type': 'text/plain' })
    expect(await since()).toEqual([
      refusal('wrong password', id),
      refusal('unknown e-mail'),
      refusal('region not enabled', id),
      refusal('disabled', id),
      event('login.refused', 'INVALID_REQUEST', '/Password is required'),
      event('login.refused', 'BODY_NOT_JSON', null),
      event('login.refused', 'AUTHORIZATION_NOT_ALLOWED', null),
      event('login.refused', 'UNSUPPORTED_MEDIA_TYPE', null),
    ])
  })

  it('a refused delivery is recorded with its reason, its customer, key and order if known, and what the supplier was told', async () => {
    const [live, revoked, expired] = [await issue(), await issue(), await issue(0)]
    const refusal = (code: string, reason: string | null, from?: typeof live, message = '', orderId?: string) => {
      const { details, ...more } = event('delivery.refused', code, reason, from ? id : null)
      const told = from ? { ...details, message } : details
      const ids = { refusalId: expect.stringMatching(UUID_7), keyId: from?.view.id ?? null, orderId: orderId ?? null }
      return { ...more, ...ids, details: told }
    }
    await apiKeys.revoke(revoked.view.id)
    const products = (...skus: string[]) => ({ Status: 1, OrderID: 'PO-7', Products: skus.map((Sku) => ({ Sku })) })
    await deliver(undefined, { OrderID: 'PO-1' })
    await deliver(makeApiKey(systemRandom), { OrderID: 'PO-1' })
    await deliver('nonsense', {})
    await deliver(revoked.key, { OrderID: 'PO-1' })
    await deliver(expired.key, {})
    await deliver(live.key, {}, { authorization: 'Bearer a.b.c' })
    await deliver(live.key, { Status: 9, OrderID: 17 })
    await deliver(live.key, products('X-1', 'SKU-1'))
    await deliver(live.key, products('X-1', 'X-2', 'X-3', 'X-4'))
    await deliver(live.key, { Status: 1 })
    await customers.disable(id)
    clock.time += 500
    await deliver(live.key, {})
    await customers.enable(id)
    clock.time += 500
    await app.flushRefusals()
    const events = await service.store.audit.list({ limit: 100, from: clock.now() - 1000 })
    const invalid = 'The API key is not valid.'
    const four = ['X-1', 'X-2', 'X-3', 'X-4']
    expect(events.map(({ at: _, details, ...rest }) => ({ ...rest, details: inEnglish(details) }))).toEqual([
      refusal('API_KEY_MISSING', null),
      refusal('API_KEY_INVALID', 'unknown key'),
      refusal('API_KEY_INVALID', 'unknown key'),
      refusal('API_KEY_INVALID', `key ${revoked.view.id} is revoked`, revoked, invalid),
      refusal('API_KEY_INVALID', `key ${expired.view.id} is expired`, expired, invalid),
      refusal(
        'TOKEN_MALFORMED',
        'invalid token beside a valid API key; TESLIM_PURCHASE_BEARER=ignored would ignore the token',
        live,
        'The token is not a valid access token. The API key alone is enough: leave the Authorization header out.',
      ),
      refusal(
        'INVALID_REQUEST',
        '/Status must be a whole number from 0 to 3',
        live,
        'The request is not valid: /Status must be a whole number from 0 to 3.',
        '17',
      ),
      refusal(
        'PRODUCT_NOT_AUTHORIZED',
        'product X-1 is not allowed',
        live,
        'This API key may not deliver: X-1.',
        'PO-7',
      ),
      refusal(
        'PRODUCT_NOT_AUTHORIZED',
        `${four
          .slice(0, 3)
          .map((code) => `product ${code} is not allowed`)
          .join('; ')}; and 1 more`,
        live,
        `This API key may not deliver: ${four.join(', ')}.`,
        'PO-7',
      ),
      refusal(
        'PRODUCT_NOT_AUTHORIZED',
        'names no product',
        live,
        `The delivery names no product at ${service.config.productPointers.join(', ')}; a delivery without a product needs an API key with the rule *.`,
      ),
      refusal('API_KEY_INVALID', 'customer is disabled', live, invalid),
    ])
    expect(new Set(events.map(({ refusalId }) => refusalId)).size).toBe(events.length)
    expect(events.map(({ details }) => details)).toEqual(
      expect.arrayContaining([
        {
          errorCode: 'API_KEY_INVALID',
          reason: { code: 'KEY_IS_REVOKED', values: { key: revoked.view.id } },
          message: { code: 'API_KEY_INVALID', values: {} },
        },
        {
          errorCode: 'PRODUCT_NOT_AUTHORIZED',
          reason: expect.objectContaining({ code: 'PROBLEMS' }),
          message: { code: 'PRODUCTS_NOT_ALLOWED', values: { products: four } },
        },
      ]),
    )
    clock.time += 60_000
  })

  it('a reused idempotency key is recorded with the order of the second body', async () => {
    const { key, view } = await issue()
    const headers = { 'idempotency-key': 'k-1' }
    await deliver(key, { Status: 1, ProductID: 'SKU-1', OrderID: 'PO-1' }, headers)
    const { statusCode } = await deliver(key, { Status: 1, ProductID: 'SKU-1', OrderID: 'PO-2' }, headers)
    expect(statusCode).toBe(422)
    expect(await since()).toMatchObject([{ orderId: 'PO-2', keyId: view.id, customerId: id }])
  })

  it.each([
    ['not JSON', '{"Status":1,"OrderID":"PO-1"', null],
    ['of bytes that are not UTF-8', Buffer.from('{"OrderID":"PO-1","x":"\xff"}', 'latin1'), null],
    ['with a byte order mark', '\ufeff{"Status":8,"orderid":"PO-1"}', 'PO-1'],
    ['with several order ids', '{"Status":8,"OrderID":"PO-3","PurchaseID":"PO-1","PurchaseID":"PO-2"}', 'PO-2'],
    ['with an order id that is too long', `{"Status":1,"OrderID":"${'x'.repeat(201)}"}`, null],
    ['with an order id that is an object', '{"Status":8,"OrderID":{"ID":1}}', null],
    ['of an array', '[{"OrderID":"PO-1"}]', null],
    ['without anything', '', null],
  ])(
    'a refused body %s is recorded with the order id that a delivery of it would have',
    async (_what, body, orderId) => {
      const { key } = await issue()
      await deliver(key, body)
      expect(await since()).toMatchObject([{ orderId, customerId: id }])
    },
  )

  it('successes, unknown addresses and faults of the service are not recorded', async () => {
    const { key } = await issue()
    await service.login({ Email: email, Password: PASSWORD })
    await deliver(key, { Status: 1, ProductID: 'SKU-1' })
    await app.inject({ method: 'GET', url: '/nowhere' })
    await app.inject({ method: 'DELETE', url: '/Purchase/update' })
    const { findByEmail } = service.store.customers
    Object.assign(service.store.customers, { findByEmail: () => Promise.reject(new Error('defect')) })
    expect((await service.login({ Email: 'never.asked.for@example.com', Password: PASSWORD })).statusCode).toBe(500)
    Object.assign(service.store.customers, { findByEmail })
    expect(await since()).toEqual([])
  })

  it('no secret is recorded, whatever was refused, here or in any other table', async () => {
    const { key } = await issue()
    const unknown = makeApiKey(systemRandom)
    const token = (await service.login({ Email: email, Password: PASSWORD })).json().data.Token as string
    const secrets = ['pass-in-Email', 'pass-in-Password', 'callback-data', 'payload-text', 'pass-in-header']
    await service.login({ Email: 'pass-in-Email', Password: 'pass-in-Password', callbackData: 'callback-data' })
    await service.login({ Email: 'pass-in-Email@x.y', Password: 'pass-in-Password' })
    await service.login({ Email: email, Password: 'pass-in-Password', callbackData: ['callback-data'] })
    await service.login({ Email: email, Password: PASSWORD }, { headers: { authorization: token } })
    await service.login({ Email: email, Password: PASSWORD }, { headers: { 'h-region-code': 'pass-in-header' } })
    await service.login('"pass-in-Password"')
    await deliver(unknown, { Status: 1, Note: 'payload-text' })
    await deliver(key, { Status: 'payload-text', Note: 'payload-text' })
    await deliver(key, { Status: 1, ProductID: 'X', Note: 'payload-text' })
    await deliver(key, 'payload-text')
    await deliver(key, { Status: 1, Note: 'payload-text' }, { authorization: `Bearer ${token}x` })
    await deliver(key, { Status: 1 }, { 'idempotency-key': 'pass-in-header \u00fc' })
    const events = await since()
    expect(events).toHaveLength(12)
    const { databaseUrl } = service.config
    if (kind === 'sqlite')
      for (const end of ['', '-wal']) files.push(openSync(`${databaseUrl.slice('sqlite:'.length)}${end}`, 'r'))
    const stored =
      kind === 'sqlite'
        ? files.map((file) => readFileSync(file, 'latin1')).join()
        : JSON.stringify(await runSql(databaseUrl, 'SELECT * FROM audit_event'))
    expect(stored).toContain('login.refused')
    for (const secret of [...secrets, key, unknown, token, token.slice(-40), PASSWORD]) {
      expect(stored.includes(secret), secret).toBe(false)
    }
    expect(JSON.stringify(events)).not.toContain(email)
  })
})

describe('refusals', async () => {
  const { store, clock } = await testApp()
  const refusal = (more: Partial<Refusal> = {}): Refusal => ({
    action: 'login.refused',
    errorCode: 'LOGIN_REFUSED',
    reason: 'wrong password',
    customerId: null,
    keyId: null,
    address: '10.0.0.1',
    requestId: 'r',
    ...more,
  })
  const noFailure = (error: unknown): void => expect.unreachable(String(error))
  const start = (audit: AuditStore = store.audit, onFailed: (error: unknown) => void = noFailure) =>
    createRefusals(audit, clock, (now) => newId(now, systemRandom), onFailed)
  const listed = async () => {
    const events = await store.audit.list({ from: clock.now(), limit: 100_000 })
    clock.time += 3_600_000
    return events
  }

  it('of one attacker are recorded ten times a minute, and leave room for others', async () => {
    const refusals = start()
    for (let i = 0; i < 50_000; i++) refusals.record(refusal())
    refusals.record(refusal({ address: '10.0.0.2' }))
    refusals.record(refusal({ errorCode: 'LOGIN_THROTTLED' }))
    refusals.record(refusal({ action: 'delivery.refused' }))
    await refusals.close()
    const events = await listed()
    expect(events).toHaveLength(10 + 3 + 1)
    expect(events.at(-1)).toEqual({
      at: clock.now() - 3_600_000,
      actor: 'api',
      action: 'login.refused',
      customerId: null,
      address: null,
      requestId: null,
      refusalId: null,
      orderId: null,
      keyId: null,
      details: {
        notRecorded: 49_990,
        errorCodes: { LOGIN_REFUSED: 49_990 },
        addresses: { '10.0.0.1': 49_990 },
        customers: {},
      },
    })
  })

  it('of many attackers on many accounts are recorded sixty times a minute, and the count names the most frequent', async () => {
    const refusals = start()
    for (let i = 0; i < 50_000; i++) {
      refusals.record(refusal({ address: `10.1.${i % 200}.${i % 256}`, customerId: `c-${i % 100}` }))
    }
    await refusals.close()
    const events = await listed()
    expect(events).toHaveLength(61)
    const details = events.at(-1)?.details
    expect(details?.notRecorded).toBe(49_940)
    expect(Object.keys(details?.addresses ?? {})).toHaveLength(10)
    expect(Object.keys(details?.customers ?? {})).toHaveLength(10)
  })

  const ofKey = (number: number, more: Partial<Refusal> = {}): Refusal =>
    refusal({ action: 'delivery.refused', customerId: `customer-${number}`, keyId: `key-${number}`, ...more })
  const codes = Array.from({ length: 12 }, (_, index) => `CODE_${index}`)

  it('of a known key are recorded whatever strangers and hundreds of other keys do, and all together 600 a minute', async () => {
    const refusals = start()
    for (let i = 0; i < 20_000; i++) {
      const errorCode = codes[i % codes.length] as string
      const address = `2001:db8:${(i % 5000).toString(16)}::1`
      refusals.record(refusal({ action: 'delivery.refused', errorCode, address }))
      refusals.record(refusal({ errorCode, address, customerId: `c-${i % 300}` }))
      refusals.record(ofKey(i % 300, { errorCode, address }))
    }
    refusals.record(ofKey(1000, { errorCode: 'PRODUCT_NOT_AUTHORIZED' }))
    await refusals.close()
    const events = (await listed()).filter(({ details }) => details.notRecorded === undefined)
    expect(events.length).toBeLessThanOrEqual(600)
    expect(events.filter(({ keyId }) => keyId === null)).toHaveLength(120)
    expect(events.at(-1)).toMatchObject({ keyId: 'key-1000', details: { errorCode: 'PRODUCT_NOT_AUTHORIZED' } })
  })

  it('of one /64 count as those of one address', async () => {
    const refusals = start()
    for (let i = 0; i < 1000; i++) {
      refusals.record(refusal({ address: `2001:db8:1:1:${i.toString(16)}::1`, errorCode: codes[i % 12] as string }))
    }
    for (let i = 0; i < 10; i++) refusals.record(refusal({ address: `192.0.2.${i}` }))
    await refusals.close()
    const addresses = (await listed()).flatMap(({ address }) => address ?? [])
    expect(addresses.filter((address) => address.startsWith('2001:')).length).toBeLessThanOrEqual(20)
    expect(addresses.filter((address) => address.startsWith('192.'))).toHaveLength(10)
  })

  it('of 64 networks of one /48 leave room for others', async () => {
    const refusals = start()
    const from = (address: string, action: string) => refusals.record(refusal({ action, address }))
    for (let i = 0; i < 64; i++) from(`2001:db8:77:${i.toString(16)}::1`, 'delivery.refused')
    for (let i = 0; i < 5; i++) from('203.0.113.9', 'login.refused')
    for (let i = 0; i < 5; i++) from(`2001:db8:78:${i}::1`, 'login.refused')
    await refusals.close()
    const events = await listed()
    const { length } = events.filter(({ address }) => address?.startsWith('2001:db8:77:'))
    expect(length).toBeGreaterThanOrEqual(10)
    expect(length).toBeLessThanOrEqual(30)
    const others = events.filter(({ action, address }) => action === 'login.refused' && address !== null)
    expect(others).toHaveLength(10)
  })

  it('that are not listed leave no customer without a word, and none is told of those of others', async () => {
    const refusals = start()
    for (let i = 0; i < 25; i++) refusals.record(ofKey(1, { errorCode: i < 13 ? 'A' : 'B' }))
    refusals.record(ofKey(2))
    await refusals.close()
    const told = (await listed()).filter(({ details }) => details.notRecorded !== undefined)
    expect(told).toHaveLength(2)
    expect(told[0]).toMatchObject({ customerId: null, refusalId: null, details: { notRecorded: 5 } })
    expect(told[1]).toMatchObject({
      action: 'delivery.refused',
      customerId: 'customer-1',
      refusalId: expect.stringMatching(UUID_7),
      details: {
        errorCode: 'REFUSALS_NOT_LISTED',
        message: { code: 'REFUSALS_NOT_LISTED', values: { count: 5, codes: ['3 A', '2 B'] } },
        notRecorded: 5,
        errorCodes: { A: 3, B: 2 },
      },
    })
  })

  it('are recorded again in the next minute, whose flush writes the count of the last one', async () => {
    const refusals = start()
    for (let i = 0; i < 15; i++) refusals.record(refusal())
    clock.time += 59_999
    refusals.record(refusal())
    await refusals.flush()
    expect(await store.audit.list({ from: clock.now() - 59_999, limit: 99 })).toHaveLength(10)
    clock.time += 1
    await refusals.flush()
    const events = await store.audit.list({ from: clock.now() - 60_000, limit: 99 })
    expect(events).toHaveLength(11)
    expect(events.at(-1)?.details).toMatchObject({ notRecorded: 6 })
    refusals.record(refusal())
    await refusals.close()
    expect(await store.audit.list({ from: clock.now() - 60_000, limit: 99 })).toHaveLength(12)
    clock.time += 3_600_000
  })

  it('that could not be written are queued up to a limit, and written when the store is back', async () => {
    const state: { away: boolean } = { away: true }
    const failures: unknown[] = []
    const append: AuditStore['append'] = (events) =>
      state.away ? Promise.reject(new Error('away')) : store.audit.append(events)
    const refusals = start({ ...store.audit, append }, (error) => failures.push(error))
    const begin = clock.now()
    for (let minute = 0; minute < 40; minute++) {
      for (let i = 0; i < 100; i++) refusals.record(refusal({ address: `10.0.${minute}.${i}` }))
      await refusals.flush()
      clock.time += 60_000
    }
    expect(failures).toHaveLength(40)
    state.away = false
    await refusals.close()
    const events = await store.audit.list({ from: begin, limit: 100_000 })
    const kept = events.filter(({ address }) => address !== null)
    expect(kept.length).toBeLessThanOrEqual(1000)
    const counted = events.reduce((all, { details }) => all + Number(details.notRecorded ?? 0), 0)
    expect(kept.length + counted).toBe(4000)
    clock.time += 3_600_000
  })

  it('have reasons of a bounded length', async () => {
    const refusals = start()
    refusals.record(refusal({ reason: 'x'.repeat(100_000) }))
    await refusals.close()
    expect((await listed()).map(({ details }) => details.reason)).toEqual(['x'.repeat(200)])
  })
})

describe('retention', () => {
  const DAY = 86_400_000
  const withOld = async (days: number) => {
    const service = await testApp()
    const one = auditEvent({ customerId: null })
    const now = service.clock.now()
    await service.store.audit.append(Array.from({ length: 1200 }, () => ({ ...one, at: now - 400 * DAY - 1 })))
    await service.store.audit.append([{ ...one, at: now - 400 * DAY }])
    const { expire } = createRetention(service.store.audit, service.clock, days, () => undefined)
    return { expire, left: async () => (await service.store.audit.list({ limit: 9999 })).length }
  }

  it('deletes what is older than its days, in batches', async () => {
    const { expire, left } = await withOld(400)
    const steps: unknown[] = []
    for (let i = 0; i < 4; i++) steps.push([await expire(), await left()])
    expect(steps).toEqual([
      [true, 701],
      [true, 201],
      [false, 1],
      [false, 1],
    ])
  })

  it('of 0 days keeps everything', async () => {
    const { expire, left } = await withOld(0)
    expect([await expire(), await left()]).toEqual([false, 1201])
  })
})

it('a proxy that adds ports makes no new source of each connection', async () => {
  const service = await testApp({ TESLIM_TRUST_PROXY: 'loopback' })
  const logInFrom = (forwarded: string) =>
    service.login({ Email: 'nobody@example.com', Password: 'whatever' }, { headers: { 'x-forwarded-for': forwarded } })
  for (let port = 4711; port < 4731; port++) await logInFrom(`192.0.2.1:${port}`)
  await logInFrom('192.0.2.2:4711')
  const sources = (await refused(service)).map(({ address, details }) => `${address} ${details.errorCode}`)
  expect(sources).toEqual([
    ...new Array(5).fill('192.0.2.1 LOGIN_REFUSED'),
    // Fifteen were throttled; ten of one source are kept in a minute.
    ...new Array(10).fill('192.0.2.1 LOGIN_THROTTLED'),
    '192.0.2.2 LOGIN_REFUSED',
  ])
})

it('what is queued is written when the server closes', async () => {
  const service = await testApp()
  const list = () => service.store.audit.list({ limit: 9 })
  let sent = 0
  // What is queued is written every second, which may be over before a busy machine has looked.
  do {
    await service.login({ Email: 'nobody@example.com', Password: 'whatever' })
    sent++
  } while ((await list()).length === sent)
  await service.app.close()
  expect(await list()).toMatchObject(Array(sent).fill({ details: { reason: { code: 'EMAIL_UNKNOWN' } } }))
})
