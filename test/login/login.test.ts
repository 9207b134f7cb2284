import { argon2Sync } from 'node:crypto'
import { hash } from '@node-rs/argon2'
import fc from 'fast-check'
import { decodeJwt } from 'jose'
import { describe, expect, it, vi } from 'vitest'
import { passwords } from '#src/login/hashing.ts'
import { anyText } from '../support/any-text.ts'
import { failure } from '../support/app/failure.ts'
import { ruleOf } from '../support/app/log-in.ts'
import { addCustomer, LOGIN, PASSWORD, testApp } from '../support/app/test-app.ts'

const service = await testApp()
const { clock, login, log, store } = service
const customer = await addCustomer(service, { regions: ['TR', 'DE'] })
const disabled = await addCustomer(service)
await service.customers.disable(disabled.id)
const noApi = await addCustomer(service, { isApi: false })
const noPassword = await addCustomer(service, { password: undefined })
const otherRegion = await addCustomer(service, { regions: ['DE'] })
const good = { Email: customer.email, Password: PASSWORD }

describe('a login with the right password', () => {
  it('answers a token and when it expires', async () => {
    const answer = await login(good)
    expect(answer.statusCode).toBe(200)
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
    })
    const { data, ...rest } = answer.json()
    expect(rest).toEqual({ success: true, message: 'OK' })
    expect(Object.keys(data)).toEqual(['Token', 'Expiration'])
    const { exp = 0, region } = decodeJwt(data.Token)
    expect(data.Expiration).toBe('2026-11-21T13:00:00Z')
    expect(new Date(exp * 1000).toISOString()).toBe('2026-11-21T13:00:00.000Z')
    expect(exp).toBe(Math.floor(clock.now() / 1000) + 3600)
    expect(region).toBe('TR')
  })

  it.each([['/login/customer/api/verify'], ['/LOGIN/CUSTOMER/API/VERIFY/'], [`${LOGIN}?ApiKey=x`]])(
    'is taken at %s',
    async (url) => {
      expect((await login(good, { url })).statusCode).toBe(200)
    },
  )

  it.each([
    [{ email: customer.email, PASSWORD, CallbackData: 'x' }],
    [{ EMAIL: ` ${customer.email.toUpperCase()} `, password: PASSWORD, callbackdata: 'x' }],
    [{ ...good, callbackData: 'x', unknown: { fields: ['do', 'no', 'harm'] } }],
  ])('is taken as %j', async (body) => {
    const answer = await login(body)
    expect(answer.json()).toMatchObject({ success: true, data: { callbackData: 'x' } })
  })

  it.each(['application/json', 'Application/JSON; charset=utf-8', 'application/vnd.x+json', 'text/json;odd'])(
    'is taken as %s',
    async (type) => {
      expect((await login(good, { headers: { 'content-type': type } })).statusCode).toBe(200)
    },
  )

  it('is taken after a byte order mark', async () => {
    expect((await login(`\ufeff${JSON.stringify(good)}`)).statusCode).toBe(200)
  })

  it('is refused for a field name that matches by Unicode folding only', async () => {
    const { data } = (await login({ ...good, 'callbac\u212aData': 'x' })).json()
    expect(Object.keys(data)).toEqual(['Token', 'Expiration'])
  })

  it.each([
    ['', 'TR'],
    ['de', 'DE'],
    ['dE', 'DE'],
  ])('in region %j carries region %s', async (region, carried) => {
    const answer = await login(good, { headers: { 'h-region-code': region } })
    expect(decodeJwt(answer.json().data.Token)).toMatchObject({ region: carried })
  })

  it('leaves a log line with the customer and no secret', async () => {
    log.length = 0
    await login({ ...good, callbackData: 'correlation-4711' }, { headers: { 'x-request-id': 'my-id' } })
    expect(log).toEqual([
      {
        level: 30,
        time: new Date(clock.now()).toISOString(),
        requestId: 'my-id',
        method: 'POST',
        route: LOGIN,
        status: 200,
        durationMs: expect.any(Number),
        customerId: customer.id,
        errorCode: null,
        address: '127.0.0.1',
        msg: 'request',
      },
    ])
  })
})

describe('callbackData', () => {
  const echo = async (callbackData: unknown) => (await login({ ...good, callbackData })).json()

  it('comes back equal for every string that JSON can carry', async () => {
    const anything = fc.oneof(
      anyText(),
      fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 200 }),
      fc.constantFrom(
        '',
        '\0',
        '__proto__',
        '\ud800',
        '\udfff\ud800',
        '"\\\u2028\u2029',
        ' trimmed? ',
        'e\u0301',
        'null',
      ),
    )
    await fc.assert(
      fc.asyncProperty(anything, async (text) => {
        expect((await echo(text)).data.callbackData).toBe(text)
      }),
      { numRuns: 500 },
    )
  })

  it('comes back equal when it is 64 KiB long', async () => {
    const text = `\ud83d${'\u{1f9fe}'}\0ş"`.repeat(11_000).slice(0, 65_536)
    expect((await echo(text)).data.callbackData).toBe(text)
  })

  it.each([null, undefined])('sent as %j is not in the answer', async (none) => {
    expect(Object.keys((await echo(none)).data)).toEqual(['Token', 'Expiration'])
  })

  it.each([1, true, ['x'], {}])('sent as %j is refused', async (wrong) => {
    expect(await echo(wrong)).toEqual(
      failure('INVALID_REQUEST', { errors: [{ path: '/callbackData', message: 'must be a string or null' }] }),
    )
  })
})

describe('a refused login', () => {
  const cases = [
    ['unknown e-mail', { Email: 'nobody@example.com', Password: PASSWORD }, {}],
    ['unknown e-mail', { Email: 'no address', Password: PASSWORD }, {}],
    ['unknown e-mail', { Email: '\ud800\0@x', Password: PASSWORD }, {}],
    ['wrong password', { ...good, Password: `${PASSWORD} ` }, {}],
    ['wrong password', { ...good, Password: PASSWORD.toUpperCase() }, {}],
    ['disabled', { Email: disabled.email, Password: PASSWORD }, {}],
    ['no password', { Email: noPassword.email, Password: PASSWORD }, {}],
    ['not an API customer', { Email: noApi.email, Password: PASSWORD }, {}],
    ['region not enabled', { Email: otherRegion.email, Password: PASSWORD }, {}],
    ['region not enabled', good, { 'h-region-code': 'US' }],
  ] as const

  let cleanAddresses = 0

  it.each(cases)('(%s) is the same 400 for all, after one hash was verified', async (reason, body, headers) => {
    const remoteAddress = `10.0.0.${++cleanAddresses}`
    const requestId = { 'x-request-id': 'same' }
    const wrongPassword = await login({ ...good, Password: 'another' }, { headers: requestId, remoteAddress })
    log.length = 0
    const answer = await login(body, { headers: { ...headers, ...requestId }, remoteAddress })
    expect(answer.statusCode).toBe(400)
    expect(answer.payload).toBe(wrongPassword.payload)
    expect({ ...answer.headers, date: '' }).toEqual({ ...wrongPassword.headers, date: '' })
    expect(answer.json()).toEqual(failure('LOGIN_REFUSED', { requestId: 'same' }))
    expect(log).toMatchObject([{ errorCode: 'LOGIN_REFUSED', reason, status: 400 }])
    expect(log[0]?.customerId === null).toBe(reason === 'unknown e-mail')

    const verify = vi.fn(passwords.verify)
    const logIn = ruleOf(service, { passwords: { ...passwords, verify } })
    const region = Object.values(headers)[0] ?? 'TR'
    const refused = logIn(body.Email, body.Password, `10.0.1.${cleanAddresses}`, region)
    await expect(refused).rejects.toMatchObject({ code: 'LOGIN_REFUSED' })
    expect(verify).toHaveBeenCalledTimes(1)
    expect(verify.mock.calls[0]?.[0]).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  })

  it('has no path by which an unknown account skips the hash', async () => {
    const verify = vi.fn(async () => true)
    const logIn = ruleOf(service, { passwords: { ...passwords, verify } })
    // Even a password that "matches" the dummy hash opens nothing.
    for (const email of ['nobody@example.com', disabled.email, noApi.email, otherRegion.email]) {
      await expect(logIn(email, 'x')).rejects.toMatchObject({ code: 'LOGIN_REFUSED' })
    }
    expect(verify).toHaveBeenCalledTimes(4)
  })
})

describe('a login that is not well-formed', () => {
  const invalid = (...errors: [string, string][]) =>
    failure('INVALID_REQUEST', { errors: errors.map(([path, message]) => ({ path, message })) })

  it.each([
    ['{}', invalid(['/Email', 'is required'], ['/Password', 'is required'])],
    [{ ...good, Email: 1 }, invalid(['/Email', 'must be a string'])],
    [{ ...good, Password: null }, invalid(['/Password', 'must be a string'])],
    [{ ...good, Password: [PASSWORD] }, invalid(['/Password', 'must be a string'])],
    [{ ...good, Password: '' }, invalid(['/Password', 'must not be empty'])],
    [{ ...good, email: 'x@y.z' }, invalid(['/Email', 'is sent more than once'])],
    [`{"Email":"a@b.c","Password":"x","Password":"y"}`, invalid(['/Password', 'is sent more than once'])],
    [`{"Email":"a@b.c","Password":"x","p\\u0061ssword":"y"}`, invalid(['/Password', 'is sent more than once'])],
    ['[]', invalid(['', 'must be a JSON object'])],
    ['null', invalid(['', 'must be a JSON object'])],
    ['"x"', invalid(['', 'must be a JSON object'])],
    [{ ...good, Password: 'x'.repeat(1025) }, failure('PASSWORD_UNUSABLE')],
    [{ ...good, Password: '\ud800' }, failure('PASSWORD_UNUSABLE')],
    ['{"Email":', failure('BODY_NOT_JSON')],
    ["{'Email':'a'}", failure('BODY_NOT_JSON')],
    ['', failure('BODY_MISSING')],
    ['{"a":1,"__proto__":{"isApi":true}}', failure('FORBIDDEN_KEY')],
    ['{"a":[{"\\u005f_proto__":1}]}', failure('FORBIDDEN_KEY')],
    ['{"constructor":{"prototype":{}}}', failure('FORBIDDEN_KEY')],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), failure('BODY_NOT_UTF8')],
    [Buffer.from(JSON.stringify(good), 'utf16le'), failure('BODY_NOT_JSON')],
    [`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, failure('BODY_TOO_DEEP')],
    [`${'{"a":'.repeat(64)}1${'}'.repeat(64)}`, invalid(['/Email', 'is required'], ['/Password', 'is required'])],
    [`${'['.repeat(400_000)}`, failure('BODY_TOO_DEEP')],
  ])('as %j is a 400 that says what is wrong', async (body, expected) => {
    const answer = await login(body)
    expect(answer.statusCode).toBe(400)
    expect(answer.json()).toEqual(expected)
  })

  it('is a 413 when it is longer than the longest e-mail, password and 64 KiB of callbackData, each byte escaped', async () => {
    const escaped = (length: number): string => '\\u0061'.repeat(length)
    const longest = `{"Email":"${escaped(252)}@a","Password":"${escaped(1024)}","callbackData":"${escaped(65_536)}"}`
    expect((await login(longest)).json()).toEqual(failure('LOGIN_REFUSED'))
    const answer = await login(longest + ' '.repeat(4096))
    expect([answer.statusCode, answer.json()]).toEqual([413, failure('BODY_TOO_LARGE')])
  })

  it('quotes nothing of a broken body', async () => {
    const { payload } = await login('{"Email":"a@b.c",\n"Password": hunter2}')
    expect(payload).not.toMatch(/hunter2|a@b/)
  })

  it.each(['T', 'TUR', 'T1', 'TR, DE', '**'])('with region %j is a 400', async (region) => {
    const answer = await login(good, { headers: { 'h-region-code': region } })
    expect(answer.statusCode).toBe(400)
    expect(answer.json()).toMatchObject({ errorCode: 'INVALID_REQUEST', errors: [{ path: 'headers/h-region-code' }] })
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', 'json', ''])(
    'of type %j is a 415',
    async (type) => {
      const answer = await login(good, { headers: { 'content-type': type } })
      expect(answer.statusCode).toBe(415)
      expect(answer.json()).toEqual(failure('UNSUPPORTED_MEDIA_TYPE'))
    },
  )

  it('with an Authorization header is told to drop it, before its body is looked at', async () => {
    const answer = await login('not json', { headers: { authorization: 'Bearer x' } })
    expect(answer.statusCode).toBe(400)
    expect(answer.json()).toEqual(
      failure('AUTHORIZATION_NOT_ALLOWED', { message: expect.stringContaining('drop the Authorization') }),
    )
  })
})

describe('settings', () => {
  it('TESLIM_LOGIN_AUTHORIZATION=ignore lets the header pass', async () => {
    const lax = await testApp({ TESLIM_LOGIN_AUTHORIZATION: 'ignore' })
    const { email } = await addCustomer(lax)
    const answer = await lax.login({ Email: email, Password: PASSWORD }, { headers: { authorization: 'Bearer x' } })
    expect(answer.statusCode).toBe(200)
  })

  it('TESLIM_LOGIN_ANSWER and TESLIM_LOGIN_EMAIL_FIELD change the spelling', async () => {
    const expected = {
      camel: ['token', 'expiration', 'callbackData'],
      both: ['Token', 'Expiration', 'token', 'expiration', 'callbackData'],
    }
    for (const [answer, keys] of Object.entries(expected)) {
      const other = await testApp({ TESLIM_LOGIN_ANSWER: answer, TESLIM_LOGIN_EMAIL_FIELD: 'UserMail' })
      const { email } = await addCustomer(other)
      const { data } = (await other.login({ usermail: email, Password: PASSWORD, callbackData: 'x' })).json()
      expect(Object.keys(data)).toEqual(keys)
      expect((await other.login({ Email: email, Password: PASSWORD })).statusCode).toBe(400)
    }
  })

  it('TESLIM_FIELD_CASE=exact takes only the exact spelling', async () => {
    const exact = await testApp({ TESLIM_FIELD_CASE: 'exact' })
    const { email } = await addCustomer(exact)
    expect((await exact.login({ Email: email, Password: PASSWORD })).statusCode).toBe(200)
    expect((await exact.login({ email, Password: PASSWORD })).json()).toMatchObject({ errors: [{ path: '/Email' }] })
  })
})

describe('password hashes', () => {
  it('are Argon2id as node:crypto computes it too', async () => {
    const made = await passwords.hash(PASSWORD)
    const [, algorithm, version, parameters, salt = '', digest] = made.split('$')
    expect([algorithm, version, parameters]).toEqual(['argon2id', 'v=19', 'm=19456,t=2,p=1'])
    const nonce = Buffer.from(salt, 'base64')
    expect(nonce).toHaveLength(16)
    const oracle = argon2Sync('argon2id', {
      message: PASSWORD,
      nonce,
      memory: 19_456,
      passes: 2,
      parallelism: 1,
      tagLength: 32,
    })
    expect(digest).toBe(oracle.toString('base64').replace(/=+$/, ''))
  })

  it('made with other parameters are renewed by a login, not by a failed one', async () => {
    const { id, email } = await addCustomer(service)
    const old = await hash(PASSWORD, { algorithm: 2, memoryCost: 4096, timeCost: 3, parallelism: 1 })
    await store.customers.setPassword(id, old, 'b')
    await login({ Email: email, Password: 'wrong password' })
    expect((await store.customers.findById(id))?.passwordHash).toBe(old)
    expect((await login({ Email: email, Password: PASSWORD })).statusCode).toBe(200)
    const renewed = (await store.customers.findById(id))?.passwordHash ?? ''
    expect(renewed).toMatch(/m=19456,t=2,p=1/)
    expect((await login({ Email: email, Password: PASSWORD })).statusCode).toBe(200)
    expect((await store.customers.findById(id))?.passwordHash).toBe(renewed)
  })

  it.each([
    [{ memoryCost: 19_456, timeCost: 3, parallelism: 1 }],
    [{ memoryCost: 19_456, timeCost: 2, parallelism: 2 }],
    [{ memoryCost: 8192, timeCost: 2, parallelism: 1 }],
    [{ memoryCost: 19_456, timeCost: 2, parallelism: 1, algorithm: 1 }],
  ])('made with %j are outdated', async (parameters) => {
    expect(passwords.isOutdated(await hash(PASSWORD, { algorithm: 2, ...parameters }))).toBe(true)
    expect(passwords.isOutdated(await passwords.hash(PASSWORD))).toBe(false)
  })

  it('that cannot be renewed do not fail the login', async () => {
    const { id, email } = await addCustomer(service)
    await store.customers.setPassword(id, await hash(PASSWORD, { algorithm: 2, memoryCost: 4096 }), 'b')
    const onRehashFailed = vi.fn()
    const failing = { ...store.customers, replacePasswordHash: () => Promise.reject(new Error('no')) }
    const logIn = ruleOf(service, { customers: failing, onRehashFailed })
    expect(await logIn(email, PASSWORD)).toMatchObject({ customerId: id })
    expect(onRehashFailed).toHaveBeenCalledTimes(1)
  })

  it('cover the password to its last byte: NUL and blanks count', async () => {
    const odd = ' \0 pass\0word \u0130 '
    const { email } = await addCustomer(service, { password: odd })
    expect((await login({ Email: email, Password: odd })).statusCode).toBe(200)
    expect((await login({ Email: email, Password: odd.trim() })).statusCode).toBe(400)
    expect((await login({ Email: email, Password: odd.slice(0, 2) })).statusCode).toBe(400)
  })
})
