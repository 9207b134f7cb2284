import { beforeEach, describe, expect, it } from 'vitest'
import { failure } from '../support/app/failure.ts'
import { operating } from '../support/app/operating.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { addCustomer, testApp } from '../support/app/test-app.ts'

const HOUR = 3_600_000
const NOBODY = '01a1fd40-0c1e-7b52-9a0f-3f5d2c1b7e64'
const iso = (milliseconds: number) => new Date(milliseconds).toISOString()
let number = 0
const newEmail = () => `new-${++number}@example.com`

describe('operators change customers', async () => {
  const service = await testApp({}, { withThreads: true })
  const { app, clock, store, log } = service
  const { get, post, operator, token } = await operating(service)
  beforeEach(() => {
    clock.time++
  })
  const logIn = async (Email: string, Password: string) => (await service.login({ Email, Password })).statusCode
  const deliver = (ApiKey: string, ProductID = 'A') =>
    app.inject({ method: 'POST', url: '/Purchase/update', headers: { ApiKey }, payload: { Status: 1, ProductID } })
  const events = async (customerId: string) =>
    (await store.audit.list({ customerId, limit: 100 })).map(({ actor, action, address, details }) => ({
      actor,
      action,
      address,
      details,
    }))
  const event = (action: string, details = {}) => ({
    actor: `console:${operator.email}`,
    action,
    address: '127.0.0.1',
    details,
  })

  it('add one with a generated password, which is shown once', async () => {
    const Email = newEmail()
    const body = {
      Email: `  ${Email.toUpperCase()} `,
      IsAPI: true,
      Regions: ['de', 'TR'],
      AuthorityRules: ['b', 'A-*'],
    }
    const answer = await post('/Operator/customers', body)
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store, no-transform'])
    const { Customer, Password } = answer.json().data
    expect(Customer).toEqual({
      CustomerID: expect.any(String),
      Email,
      Name: '',
      Note: '',
      IsAPI: true,
      Scope: 'customer',
      SeesPayloads: true,
      IsOperator: false,
      IsReadOnly: false,
      IsEnabled: true,
      DisabledReason: '',
      IsRemoved: false,
      Regions: ['DE', 'TR'],
      AuthorityRules: ['A-*', 'b'],
      CreatedAt: iso(clock.now()),
      Keys: { Live: 0, ExpiringSoon: 0 },
      LastUsedAt: null,
      SilenceSeconds: null,
      SilentSince: null,
      Warnings: ['NO_KEY'],
    })
    expect(Password).toMatch(/^[0-9A-Za-z]{24}$/)
    expect(await logIn(Email, Password)).toBe(200)
    const requestId = answer.headers['x-request-id']
    const [added] = await store.audit.list({ customerId: Customer.CustomerID, limit: 1 })
    expect(added).toMatchObject({ requestId })
    expect(await events(Customer.CustomerID)).toEqual([
      event('customer.add', { isApi: true, scope: 'customer', regions: ['DE', 'TR'], authority: ['A-*', 'b'] }),
    ])
  })

  it('add one with its own password, and no more rights than are given', async () => {
    const Email = newEmail()
    const Password = 'correct horse battery staple 2'
    const answer = await post('/Operator/customers', { Email, Password })
    expect(answer.json().data).toMatchObject({
      Customer: { IsAPI: false, IsOperator: false, IsReadOnly: false, Regions: ['TR'], AuthorityRules: [] },
      Password: null,
    })
    expect(answer.payload).not.toContain(Password)
    const operators = { IsAPI: true, IsOperator: true, IsReadOnly: true }
    expect(
      (await post('/Operator/customers', { Email: newEmail(), Password, ...operators })).json().data,
    ).toMatchObject({
      Customer: operators,
    })
  })

  it('add one with a scope, and with payloads if it is for support', async () => {
    for (const [role, shown] of [
      [{ Scope: 'feed' }, { IsOperator: false, IsReadOnly: false, SeesPayloads: true }],
      [{ Scope: 'operator:support' }, { IsOperator: true, IsReadOnly: true, SeesPayloads: false }],
      [
        { Scope: 'operator:support', SeesPayloads: true },
        { IsOperator: true, IsReadOnly: true, SeesPayloads: true },
      ],
      [{ Scope: 'operator' }, { IsOperator: true, IsReadOnly: false, SeesPayloads: true }],
    ] as const) {
      const { Customer } = (await post('/Operator/customers', { Email: newEmail(), ...role })).json().data
      expect(Customer).toMatchObject({ ...role, ...shown })
    }
  })

  it.each([
    ['payloads for another scope', { SeesPayloads: true, Scope: 'feed' }, 400, 'PAYLOADS_ALONE'],
    ['a scope and a role', { Scope: 'operator', IsReadOnly: true }, 400, 'INVALID_REQUEST'],
    ['an address that is none', { Email: 'x' }, 400, 'EMAIL_INVALID'],
    ['a long name', { Name: 'a'.repeat(101) }, 400, 'NAME_INVALID'],
    ['a tab in the note', { Note: 'a\tb' }, 400, 'NOTE_INVALID'],
    ['a taken address', { Email: operator.email.toUpperCase() }, 409, 'EMAIL_TAKEN'],
    ['a short password', { Password: '1234567' }, 400, 'PASSWORD_SHORT'],
    ['a wrong region', { Regions: ['TUR'] }, 400, 'REGION_INVALID'],
    ['a wrong rule', { AuthorityRules: ['A*B'] }, 400, 'AUTHORITY_RULE_INVALID'],
    ['a read-only customer', { IsReadOnly: true }, 400, 'READ_ONLY_ALONE'],
  ])('add none with %s', async (_what, wrong, status, code) => {
    const Email = newEmail()
    const answer = await post('/Operator/customers', { Email, ...wrong })
    expect([answer.statusCode, answer.json().errorCode]).toEqual([status, code])
    const { errors, message } = answer.json()
    const [field] = Object.keys(wrong)
    if (code !== 'INVALID_REQUEST') expect(errors).toEqual([{ path: `/${field}`, message }])
    expect(await store.customers.findByEmail(Email)).toBeUndefined()
  })

  it('change when it counts as silent', async () => {
    const { customer } = await addSupplier(service)
    const set = (body: object) => post(`/Operator/customer/${customer.id}/set`, body)
    for (const seconds of [21_600, 0, null]) {
      const answer = await set({ SilenceSeconds: seconds })
      expect(answer.json().data.Customer).toMatchObject({ CustomerID: customer.id, SilenceSeconds: seconds })
    }
    expect(await events(customer.id)).toEqual(
      ['6h', 'off', 'default'].map((silence) => event('customer.set', { silence })),
    )
    for (const wrong of [{}, { SilenceSeconds: 59 }]) expect((await set(wrong)).statusCode).toBe(400)
  })

  it('disable, enable, and end tokens', async () => {
    const other = await operating(service, { scope: 'customer' })
    const { id } = other.operator
    const change = async (what: string) => {
      const answer = await post(`/Operator/customer/${id.toUpperCase()}/${what}`)
      expect(answer.statusCode).toBe(200)
      return answer.json().data.Customer
    }
    expect((await other.get('/Customer/Get')).statusCode).toBe(200)
    expect(await change('disable')).toMatchObject({ CustomerID: id, IsEnabled: false, Warnings: [] })
    expect((await other.get('/Customer/Get')).json().errorCode).toBe('TOKEN_REVOKED')
    expect(await change('enable')).toMatchObject({ IsEnabled: true })
    expect((await other.get('/Customer/Get')).json().errorCode).toBe('TOKEN_REVOKED')
    expect(await change('revokeTokens')).toMatchObject({ IsEnabled: true })
    expect(await events(id)).toEqual(['customer.disable', 'customer.enable', 'token.revoke'].map((name) => event(name)))
  })

  it('need no body where none is read, whatever comes', async () => {
    const { id } = await addCustomer(service)
    for (const payload of ['', '{', '{"Rules":["*"]}']) {
      expect((await post(`/Operator/customer/${id}/enable`, payload)).statusCode).toBe(200)
    }
    expect((await store.customers.findById(id))?.authority).toEqual([])
  })

  it('name a customer and note something about it, which neither log keeps', async () => {
    const { id } = await addCustomer(service)
    const words = { Name: 'Kitap A.Ş.', Note: 'one\ntwo' }
    const answer = await post(`/Operator/customer/${id}/set`, words)
    expect([answer.statusCode, answer.json().data.Customer]).toEqual([200, expect.objectContaining(words)])
    expect((await post(`/Operator/customer/${id}/set`, { Note: '' })).json().data.Customer).toMatchObject({
      Name: words.Name,
      Note: '',
    })
    const refused = await post(`/Operator/customer/${id}/set`, { Name: 'a\nb' })
    expect([refused.statusCode, refused.json().errorCode]).toEqual([400, 'NAME_INVALID'])
    expect(await events(id)).toEqual([
      event('customer.set', { name: 'changed', note: 'changed' }),
      event('customer.set', { note: 'changed' }),
    ])
    expect(JSON.stringify([log, await store.audit.list({ limit: 10_000 })])).not.toContain(words.Name)
  })

  it('disable with a reason or without a body, and enabling forgets the reason', async () => {
    const { id } = await addCustomer(service)
    const disable = async (payload?: object | string, headers = {}) => {
      const answer = await post(`/Operator/customer/${id}/disable`, payload, headers)
      const { DisabledReason = answer.json().errorCode } = answer.json().data?.Customer ?? {}
      return [answer.statusCode, DisabledReason]
    }
    expect(await disable({ Reason: ' sends test orders ' })).toEqual([200, 'sends test orders'])
    for (const nothing of [undefined, '', {}]) expect(await disable(nothing)).toEqual([200, 'sends test orders'])
    expect(await disable({ Reason: 'two\nlines' })).toEqual([400, 'REASON_INVALID'])
    expect(await disable('{')).toEqual([400, 'BODY_NOT_JSON'])
    const plain = { headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' } }
    expect(await disable('{"Reason":"asked"}', plain)).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
    expect((await post(`/Operator/customer/${id}/enable`)).json().data.Customer).toMatchObject({ DisabledReason: '' })
    expect((await events(id)).map(({ details }) => details)).toEqual([{ disabledReason: 'changed' }, {}, {}, {}, {}])
  })

  it('cannot lock themselves out', async () => {
    for (const what of ['disable', 'revokeTokens']) {
      const answer = await post(`/Operator/customer/${operator.id.toUpperCase()}/${what}`)
      expect([answer.statusCode, answer.json()]).toEqual([409, failure('OPERATOR_SELF')])
    }
    expect((await get('/Operator/customers')).statusCode).toBe(200)
    expect(await events(operator.id)).toEqual([])
  })

  it('add and remove authority rules', async () => {
    const { customer, key } = await addSupplier(service, { authority: ['B'] })
    const change = (what: string, Rules: unknown) => post(`/Operator/customer/${customer.id}/${what}`, { Rules })
    expect((await change('allow', ['A', 'C-*', 'A'])).json().data.Customer.AuthorityRules).toEqual(['A', 'B', 'C-*'])
    expect((await deliver(key)).statusCode).toBe(200)
    expect((await change('disallow', ['A'])).json().data.Customer.AuthorityRules).toEqual(['B', 'C-*'])
    clock.time += 1000
    expect((await deliver(key)).statusCode).toBe(403)
    for (const [what, rules, code] of [
      ['allow', ['x\u0000'], 'AUTHORITY_RULE_INVALID'],
      ['disallow', ['B', 'none'], 'AUTHORITY_RULE_MISSING'],
      ['disallow', ['c-*'], 'AUTHORITY_RULE_MISSING'],
    ] as const)
      expect((await change(what, rules)).json().errorCode).toBe(code)
    expect((await store.customers.findById(customer.id))?.authority).toEqual(['B', 'C-*'])
    expect((await events(customer.id)).filter(({ actor }) => actor !== 'api')).toEqual([
      event('customer.allow', { rules: ['A', 'C-*', 'A'] }),
      event('customer.disallow', { rules: ['A'] }),
    ])
  })

  it('are told what is wrong by code, too, so that the console says it in the language of its reader', async () => {
    const { customer, key } = await addSupplier(service)
    const keys = `/Operator/customer/${customer.id}/keys`
    const messageValues = { min: 0, max: 1_000_000 }
    const wrong = {
      path: '/RateLimit',
      message: 'must be a whole number from 0 to 1000000, or null',
      messageCode: 'NOT_A_WHOLE_NUMBER_OR_NULL',
      messageValues,
    }
    const { message, path } = wrong
    expect((await post(keys, { Label: 'x', RateLimit: -1 })).json()).toEqual(
      failure('INVALID_REQUEST', {
        message: `The request is not valid: ${path} ${message}.`,
        errors: [wrong],
      }),
    )
    expect((await post(keys, { Label: 'x', Networks: ['10.0.0.0/33'] })).json()).toMatchObject({
      errorCode: 'NETWORK_INVALID',
      errors: [
        {
          path: '/Networks',
          messageCode: 'WRONG_NETWORK',
          messageValues: { network: '"10.0.0.0/33"', problem: { code: 'PREFIX_LENGTH', values: { min: 1, max: 32 } } },
        },
      ],
    })
    // Its code says all.
    const label = { path: '/Label', message: expect.any(String) }
    expect((await post(keys, { Label: '\u0000' })).json()).toEqual(failure('LABEL_INVALID', { errors: [label] }))
    const supplier = await app.inject({
      method: 'POST',
      url: '/Purchase/update',
      headers: { ApiKey: key },
      payload: {},
    })
    expect(supplier.json()).toEqual(
      failure('INVALID_REQUEST', { errors: [{ path: '/Status', message: 'is required' }] }),
    )
  })

  it('are told of a list that is too long, and not of each thing in it', async () => {
    const { id } = await addCustomer(service)
    const answer = await post(`/Operator/customer/${id}/allow`, { Rules: Array(1001).fill(0) })
    const errors = [{ path: '/Rules', message: 'must be a list of at most 1000 rules' }]
    expect([answer.statusCode, answer.json()]).toEqual([400, { ...failure('INVALID_REQUEST'), errors }])
    const networks = await post(`/Operator/customer/${id}/keys`, { Label: 'x', Networks: Array(1001).fill(0) })
    expect(networks.json().errors).toEqual([
      { path: '/Networks', message: 'must be a list of one network or more, or null' },
    ])
  })

  it('cannot change a customer that was removed', async () => {
    const { customer, keyId } = await addSupplier(service)
    await service.customers.remove(customer.id, false)
    const before = await store.customers.findById(customer.id)
    const at = `/Operator/customer/${customer.id}`
    const answers = await Promise.all([
      post(`${at}/enable`),
      post(`${at}/disable`),
      post(`${at}/revokeTokens`),
      post(`${at}/allow`, { Rules: ['*'] }),
      post(`${at}/disallow`, { Rules: ['*'] }),
      post(`${at}/keys`, { Label: 'new' }),
    ])
    for (const answer of answers) {
      expect([answer.statusCode, answer.json().errorCode]).toEqual([409, 'CUSTOMER_REMOVED'])
    }
    const rotated = await post(`/Operator/key/${keyId}/rotate`, { OverlapHours: 1 })
    expect([rotated.statusCode, rotated.json().errorCode]).toEqual([409, 'API_KEY_ENDED'])
    expect(await store.customers.findById(customer.id)).toEqual(before)
    expect(await store.apiKeys.list(customer.id)).toHaveLength(1)
  })

  it.each(['x', NOBODY, '%00', 'shop@example.com'])('know neither customer nor key %s', async (id) => {
    const answers = [
      await post(`/Operator/customer/${id}/enable`),
      await post(`/Operator/customer/${id}/disable`),
      await post(`/Operator/customer/${id}/revokeTokens`),
      await post(`/Operator/customer/${id}/allow`, { Rules: ['*'] }),
      await post(`/Operator/customer/${id}/disallow`, { Rules: ['*'] }),
      await post(`/Operator/customer/${id}/keys`, { Label: '' }),
    ]
    for (const answer of answers)
      expect([answer.statusCode, answer.json().errorCode]).toEqual([404, 'CUSTOMER_NOT_FOUND'])
    const keys = [
      await post(`/Operator/key/${id}/revoke`),
      await post(`/Operator/key/${id}/rotate`, { OverlapHours: 0 }),
    ]
    for (const answer of keys) expect([answer.statusCode, answer.json().errorCode]).toEqual([404, 'API_KEY_NOT_FOUND'])
  })

  it('issue a key, which delivers and is shown once', async () => {
    const { customer } = await addSupplier(service)
    clock.time++
    const ExpiresAt = iso(clock.now() + HOUR)
    const body = { Label: 'erp', ExpiresAt, Networks: ['2001:DB8::/32', '127.0.0.1'], RateLimit: 600 }
    const answer = await post(`/Operator/customer/${customer.id}/keys`, body)
    const { Key, ApiKey } = answer.json().data
    expect(Key).toEqual({
      KeyID: expect.any(String),
      CustomerID: customer.id,
      SuccessorID: null,
      Label: 'erp',
      State: 'live',
      CreatedAt: iso(clock.now()),
      ExpiresAt,
      ExpiresSoon: true,
      LastUse: null,
      Networks: ['127.0.0.1', '2001:db8::/32'],
      RateLimit: 600,
    })
    expect(answer.headers['cache-control']).toBe('no-store, no-transform')
    expect((await deliver(ApiKey)).statusCode).toBe(200)
    const shown = await get(`/Operator/customer/${customer.id}`)
    expect(shown.json().data.Keys.at(-1).KeyID).toBe(Key.KeyID)
    expect(shown.payload).not.toContain(ApiKey)
    const { networks, rateLimit } = { networks: Key.Networks, rateLimit: 600 }
    expect(await events(customer.id)).toEqual([
      event('key.issue', { keyId: Key.KeyID, expiresAt: ExpiresAt, networks, rateLimit }),
    ])
  })

  it('issue keys without an end or limits, and with no limit of deliveries', async () => {
    const { customer } = await addSupplier(service)
    const at = `/Operator/customer/${customer.id}/keys`
    const bare = { ExpiresAt: null, Networks: null, RateLimit: null }
    expect((await post(at, { Label: '' })).json().data.Key).toMatchObject(bare)
    expect((await post(at, { Label: '', ...bare })).json().data.Key).toMatchObject(bare)
    const unlimited = (await post(at, { Label: '', RateLimit: 0 })).json().data.Key
    expect((await store.apiKeys.findById(unlimited.KeyID))?.rateLimit).toBe(0)
    const both = await Promise.all([post(at, { Label: 'x' }), post(at, { Label: 'x' })])
    expect(new Set(both.map((answer) => answer.json().data.ApiKey)).size).toBe(2)
  })

  it.each([
    ['a long label', { Label: 'a'.repeat(101) }, 'LABEL_INVALID'],
    ['a control character', { Label: 'a\0' }, 'LABEL_INVALID'],
    ['a character that cannot be seen', { Label: 'erp\u202e' }, 'LABEL_INVALID'],
    ['a time in the past', { ExpiresAt: '2020-01-01T00:00:00Z' }, 'INVALID_REQUEST'],
    ['a time that is none', { ExpiresAt: '2027-02-30T00:00:00Z' }, 'INVALID_REQUEST'],
    ['a leap second', { ExpiresAt: '2028-12-31T23:59:60Z' }, 'INVALID_REQUEST'],
    ['a day', { ExpiresAt: '2028-12-31' }, 'INVALID_REQUEST'],
    ['no network', { Networks: [] }, 'INVALID_REQUEST'],
    ['a wrong network', { Networks: ['10.0.0.1/8'] }, 'NETWORK_INVALID'],
    ['too many networks', { Networks: Array.from({ length: 101 }, (_, n) => `10.0.0.${n}`) }, 'NETWORK_INVALID'],
  ])('issue no key with %s', async (_what, wrong, code) => {
    const { customer } = await addSupplier(service)
    const answer = await post(`/Operator/customer/${customer.id}/keys`, { Label: 'x', ...wrong })
    expect([answer.statusCode, answer.json().errorCode]).toEqual([400, code])
    expect(await store.apiKeys.list(customer.id)).toHaveLength(1)
  })

  it('rotate a key: both work until the overlap is over', async () => {
    const { customer, key, keyId } = await addSupplier(service, {}, 100 * HOUR)
    const answer = await post(`/Operator/key/${keyId.toUpperCase()}/rotate`, { OverlapHours: 0.5 })
    const { Key, ApiKey, Replaced } = answer.json().data
    expect(Key).toMatchObject({ Label: 'test', ExpiresAt: iso(clock.now() + 100 * HOUR), State: 'live' })
    expect(Replaced).toMatchObject({
      KeyID: keyId,
      State: 'live',
      SuccessorID: Key.KeyID,
      ExpiresAt: iso(clock.now() + HOUR / 2),
    })
    expect([(await deliver(key)).statusCode, (await deliver(ApiKey)).statusCode]).toEqual([200, 200])
    const again = await post(`/Operator/key/${keyId}/rotate`, { OverlapHours: 1 })
    expect([again.statusCode, again.json().errorCode]).toEqual([409, 'API_KEY_ROTATED'])
    const past = await post(`/Operator/key/${Key.KeyID}/rotate`, { OverlapHours: 1, ExpiresAt: '2020-01-01T00:00:00Z' })
    expect([past.statusCode, past.json().errorCode]).toEqual([400, 'INVALID_REQUEST'])
    const ExpiresAt = iso(clock.now() + HOUR)
    const next = await post(`/Operator/key/${Key.KeyID}/rotate`, { OverlapHours: 0, ExpiresAt })
    expect(next.json().data).toMatchObject({ Key: { ExpiresAt }, Replaced: { State: 'expired' } })
    expect((await events(customer.id)).map(({ action, actor }) => [action, actor])).toEqual(
      Array(2).fill(['key.rotate', `console:${operator.email}`]),
    )
  })

  it('revoke a key, once and again', async () => {
    const { customer, key, keyId } = await addSupplier(service)
    for (const _ of [1, 2]) {
      const answer = await post(`/Operator/key/${keyId}/revoke`)
      expect(answer.json().data.Key).toMatchObject({ KeyID: keyId, CustomerID: customer.id, State: 'revoked' })
      clock.time += 1000
    }
    expect((await deliver(key)).statusCode).toBe(401)
    const rotated = await post(`/Operator/key/${keyId}/rotate`, { OverlapHours: 1 })
    expect([rotated.statusCode, rotated.json().errorCode]).toEqual([409, 'API_KEY_ENDED'])
  })

  it('leave no secret in the log or the audit log', async () => {
    const Password = 'a secret of this test 1'
    const { data } = (await post('/Operator/customers', { Email: newEmail(), Password: 'short' })).json()
    expect(data).toBeNull()
    const given = (await post('/Operator/customers', { Email: newEmail(), Password })).json().data.Customer
    const generated = (await post('/Operator/customers', { Email: newEmail() })).json().data
    const issued = (await post(`/Operator/customer/${given.CustomerID}/keys`, { Label: 'a' })).json().data
    const rotated = (await post(`/Operator/key/${issued.Key.KeyID}/rotate`, { OverlapHours: 1 })).json().data
    await post('/Operator/customers', `{"Email":1,"Password":"${Password}"}`)
    await post('/Operator/customers', `{"Password":"${Password}`)
    const kept = JSON.stringify([log, await store.audit.list({ limit: 10_000 })])
    expect(kept).toContain(given.CustomerID)
    for (const secret of [Password, generated.Password, issued.ApiKey, rotated.ApiKey]) {
      expect(secret.length).toBeGreaterThan(20)
      expect(kept).not.toContain(secret)
    }
  })

  it('are told that an action is done when the audit log cannot be written', async () => {
    const { customer } = await addSupplier(service)
    const { append } = store.audit
    Object.assign(store.audit, { append: () => Promise.reject(new Error('full')) })
    const answer = await post(`/Operator/customer/${customer.id}/keys`, { Label: 'x' })
    Object.assign(store.audit, { append })
    expect([answer.statusCode, answer.json().message]).toEqual([503, expect.stringMatching(/^This is done, but/)])
    expect(await store.apiKeys.list(customer.id)).toContainEqual(expect.objectContaining({ label: 'x' }))
    expect(log).toContainEqual(
      expect.objectContaining({ level: 40, action: 'key.issue', msg: expect.stringContaining('audit log') }),
    )
  })
})
