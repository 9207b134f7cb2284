import type { InjectOptions } from 'fastify'
import { decodeJwt } from 'jose'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { failure } from '../support/app/failure.ts'
import { addCustomer, PASSWORD, type TestApp, testApp, testAppBeside } from '../support/app/test-app.ts'
import { published } from '../support/docs/contract.ts'
import { isSessionThere } from '../support/store/store-rows.ts'

const SESSION = '/console/session'
const MINUTE = 60_000
/** What a browser sends from a page of this service, as it is reached here. */
const OWN = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:80', 'content-type': 'application/json' }
/** The same through a proxy with TLS. */
const SECURE = { ...OWN, origin: 'https://ops.example.com', host: 'ops.example.com', 'x-forwarded-proto': 'https' }

/** A browser that keeps the one cookie. */
function browserOf({ app }: Pick<TestApp, 'app'>, headers: Record<string, string> = OWN) {
  const browser = {
    cookie: undefined as string | undefined,
    async post(url: string, payload: object, more: InjectOptions = {}) {
      const answer = await app.inject({
        method: 'POST',
        url,
        payload,
        ...more,
        headers: { ...headers, ...(browser.cookie && { cookie: browser.cookie }), ...more.headers },
      })
      const [set = ''] = [answer.headers['set-cookie']].flat()
      if (set !== '') browser.cookie = / Max-Age=0$/.test(set) ? undefined : set.split(';')[0]
      return answer
    },
    signIn: (email: string, more = {}) => browser.post(SESSION, { Email: email, Password: PASSWORD, ...more }),
    token: async (active = false) => (await browser.post(`${SESSION}/token`, { Active: active })).json().data.Session,
    end: () => browser.post(`${SESSION}/end`, {}),
  }
  return browser
}

describe('a session of the console', async () => {
  const settings = { TESLIM_TRUST_PROXY: 'loopback', TESLIM_CORS_ORIGINS: '*' }
  const service = await testApp(settings)
  const { app, clock, store } = service
  const operator = await addCustomer(service, { scope: 'operator' })
  beforeEach(() => {
    clock.time += 1000
  })
  const me = (Token: string, url = '/Customer/Get') =>
    app.inject({ url, headers: { authorization: `Bearer ${Token}` } })

  it('gives a token of five minutes, which names it and when the password was entered', async () => {
    const browser = browserOf(service)
    const answer = await browser.signIn(operator.email)
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store'])
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    const { Token, ...rest } = answer.json().data.Session
    const now = Math.floor(clock.now() / 1000)
    expect(decodeJwt(Token)).toMatchObject({
      sub: operator.id,
      sid: expect.any(String),
      auth_time: now,
      exp: now + 300,
      scope: 'operator',
    })
    expect(rest).toEqual({
      TokenSeconds: 299,
      IdleSeconds: 1800,
      EndSeconds: 43_200,
      Customer: (await me(Token)).json().data,
    })
    clock.time += 4 * MINUTE
    const later = await browser.token()
    expect(decodeJwt(later.Token)).toMatchObject({ sid: decodeJwt(Token).sid, auth_time: now, exp: now + 540 })
    expect((await me(later.Token)).statusCode).toBe(200)
  })

  it('has a cookie that no script, no other host and no connection without TLS has', async () => {
    const [local, secure] = [browserOf(service), browserOf(service, SECURE)]
    const REFERENCE = '[A-Za-z0-9_-]{43}'
    const cookies = [await local.signIn(operator.email), await secure.signIn(operator.email)].map(
      ({ headers }) => headers['set-cookie'],
    )
    expect(cookies[0]).toMatch(
      new RegExp(`^teslim-dev=${REFERENCE}; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200$`),
    )
    expect(cookies[1]).toMatch(
      new RegExp(`^__Host-teslim=${REFERENCE}; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=43200$`),
    )
    expect(await secure.token()).toMatchObject({ Customer: { Email: operator.email } })
    const kept = JSON.stringify([await store.audit.list({ limit: 1000 }), service.log])
    for (const { cookie = '' } of [local, secure]) expect(kept).not.toContain(cookie.split('=')[1])
  })

  it('is not begun without TLS, except on this machine, and the page hears why', async () => {
    for (const [host, headers] of [
      ['ops.example.com', { host: 'ops.example.com', origin: 'http://ops.example.com' }],
      // A browser sends no Sec-Fetch-Site there.
      ['192.168.1.5:3000', { host: '192.168.1.5:3000', 'sec-fetch-site': '' }],
      ['localhost.example.com', { host: 'localhost.example.com', origin: 'http://localhost.example.com' }],
    ] as const) {
      const browser = browserOf(service, { ...OWN, ...headers })
      const answer = await browser.signIn(operator.email)
      expect([host, answer.statusCode, answer.json()]).toEqual([host, 403, failure('SESSION_NEEDS_TLS')])
      expect(answer.headers['set-cookie']).toBeUndefined()
      browser.cookie = `teslim-dev=${'A'.repeat(43)}`
      const asked = await browser.post(`${SESSION}/token`, { Active: false })
      expect([asked.statusCode, asked.json().data]).toEqual([200, { Possible: false, Session: null }])
    }
    const remote = await app.inject({
      method: 'POST',
      url: SESSION,
      headers: OWN,
      payload: { Email: operator.email, Password: PASSWORD },
      remoteAddress: '203.0.113.7',
    })
    expect(remote.json()).toEqual(failure('SESSION_NEEDS_TLS'))
  })

  it('believes X-Forwarded-Proto and X-Forwarded-Host of a trusted proxy only', async () => {
    const payload = { Email: operator.email, Password: PASSWORD }
    const forwarded = { ...SECURE, host: 'upstream:3000', 'x-forwarded-host': 'ops.example.com' }
    const from = (remoteAddress: string) =>
      app.inject({ method: 'POST', url: SESSION, headers: forwarded, payload, remoteAddress })
    expect((await from('127.0.0.1')).statusCode).toBe(200)
    expect((await from('203.0.113.7')).json()).toEqual(failure('SESSION_NEEDS_TLS'))
  })

  it('is not begun by a customer that is no operator, nor by a wrong password, which counts as at the login', async () => {
    const browser = browserOf(service)
    const customer = await addCustomer(service)
    const refused = await browser.signIn(customer.email)
    expect([refused.statusCode, refused.json()]).toEqual([403, failure('OPERATOR_REQUIRED')])
    const victim = await addCustomer(service, { scope: 'operator' })
    const wrong = () => browser.post(SESSION, { Email: victim.email, Password: 'wrong' })
    expect((await wrong()).json()).toEqual(failure('LOGIN_REFUSED'))
    let tries = 1
    while ((await wrong()).statusCode === 400) tries++
    expect(tries).toBeLessThan(20)
    expect((await service.login({ Email: victim.email, Password: 'wrong' })).json()).toEqual(failure('LOGIN_THROTTLED'))
    expect(browser.cookie).toBeUndefined()
    await app.flushRefusals()
    const events = await store.audit.list({ limit: 100 })
    expect(
      events.filter(({ action, customerId }) => action === 'login.refused' && customerId === victim.id).length,
    ).toBeGreaterThan(0)
  })

  it.each([
    ['Sec-Fetch-Site: none', { 'sec-fetch-site': 'none' }],
    ['Sec-Fetch-Site: same-site', { 'sec-fetch-site': 'same-site' }],
    ['Sec-Fetch-Site: cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['Sec-Fetch-Site twice', { 'sec-fetch-site': 'same-origin, same-origin' }],
    ['no Sec-Fetch-Site', { 'sec-fetch-site': undefined }],
    ['the Origin of a sibling', { origin: 'https://evil.example.com' }],
    ['the Origin of another port', { origin: 'https://ops.example.com:8443' }],
    ['the Origin without TLS', { origin: 'http://ops.example.com' }],
    ['the Origin null', { origin: 'null' }],
    ['no Origin', { origin: undefined }],
    ['text/plain', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['no Content-Type', { 'content-type': undefined }],
    ['JSON in its name only', { 'content-type': 'text/plain; application/json' }],
  ])('is not touched by a request with %s, whose body is not even read', async (_what, wrong) => {
    const browser = browserOf(service, SECURE)
    const former = await browser.signIn(operator.email)
    const { sid } = decodeJwt(former.json().data.Session.Token)
    const [{ begin, renew, end }, counted] = [store.consoleSessions, store.loginFailures.count]
    const touched: string[] = []
    Object.assign(store.consoleSessions, {
      begin: async () => touched.push('begin'),
      renew: async () => touched.push('renew'),
      end: async () => touched.push('end'),
    })
    Object.assign(store.loginFailures, { count: async () => touched.push('count') })
    const headers = Object.fromEntries(Object.entries({ ...SECURE, ...wrong }).filter(([, value]) => value))
    for (const url of [SESSION, `${SESSION}/token`, `${SESSION}/end`]) {
      const payload = '{"this is no JSON'
      const cookie = browser.cookie ?? ''
      const answer = await app.inject({ method: 'POST', url, payload, headers: { ...headers, cookie } })
      expect([url, answer.statusCode, answer.json()]).toEqual([url, 403, failure('REQUEST_OF_OTHER_PAGE')])
      expect([answer.headers['set-cookie'], answer.headers['clear-site-data']]).toEqual([undefined, undefined])
    }
    Object.assign(store.consoleSessions, { begin, renew, end })
    Object.assign(store.loginFailures, { count: counted })
    expect(touched).toEqual([])
    expect(decodeJwt((await browser.token()).Token).sid).toBe(sid)
  })

  it('cannot be asked about by pages of other origins, not even of those that may read', async () => {
    for (const url of [SESSION, `${SESSION}/token`, `${SESSION}/end`]) {
      const answer = await app.inject({
        method: 'OPTIONS',
        url,
        headers: { origin: 'https://shop.example.com', 'access-control-request-method': 'POST' },
      })
      expect([answer.statusCode, answer.headers['access-control-allow-origin']]).toEqual([204, undefined])
    }
  })

  it('opens no route of the contract by its cookie', async () => {
    const browser = browserOf(service)
    await browser.signIn(operator.email)
    const { cookie = '' } = browser
    const asked: string[] = []
    for (const [path, methods] of Object.entries(published.paths)) {
      for (const [method, { security = [] }] of Object.entries(methods)) {
        if (!security.some((way) => 'bearer' in way)) continue
        const url = path.replaceAll(/\{\w+\}/g, operator.id)
        const answer = await app.inject({ method: method.toUpperCase() as 'GET', url, headers: { ...OWN, cookie } })
        asked.push(url)
        expect([method, url, answer.statusCode]).toEqual([method, url, 401])
      }
    }
    expect(asked.length).toBeGreaterThan(40)
  })

  it('lasts half an hour without anybody there, and twelve hours in any case', async () => {
    const browser = browserOf(service)
    await browser.signIn(operator.email)
    clock.time += 29 * MINUTE
    expect(await browser.token(false)).toMatchObject({ IdleSeconds: 60, TokenSeconds: 59 })
    expect(await browser.token(true)).toMatchObject({ IdleSeconds: 1800 })
    for (let minutes = 58; minutes < 12 * 60; minutes += 29) {
      clock.time += 29 * MINUTE
      expect(await browser.token(true)).not.toBeNull()
    }
    const { EndSeconds } = await browser.token(true)
    clock.time += EndSeconds * 1000 - MINUTE
    const { Token, ...last } = await browser.token(true)
    expect(last).toMatchObject({ TokenSeconds: 59, IdleSeconds: 60, EndSeconds: 60 })
    clock.time += MINUTE
    expect(await browser.token(true)).toBeNull()
    expect((await me(Token)).statusCode).toBe(401)
    const idle = browserOf(service)
    await idle.signIn(operator.email)
    clock.time += 30 * MINUTE
    expect(await idle.token(true)).toBeNull()
  })

  it('ends with its tokens when somebody signs out, and the cookie expires', async () => {
    const browser = browserOf(service)
    const { Token } = (await browser.signIn(operator.email)).json().data.Session
    const { cookie } = browser
    const watched = app.accessWatch.watch(await app.accessTokens.verify(Token, '127.0.0.1'))
    const answer = await browser.end()
    expect(answer.headers['set-cookie']).toContain('teslim-dev=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0')
    expect(answer.headers['clear-site-data']).toBe('"cache"')
    expect((await me(Token)).json()).toEqual(failure('TOKEN_REVOKED'))
    await app.accessWatch.check()
    expect(watched.ended.aborted).toBe(true)
    Object.assign(browser, { cookie })
    expect(await browser.token()).toBeNull()
    expect((await browser.end()).statusCode).toBe(200)
  })

  it('ends at every replica', async () => {
    const beside = await testAppBeside(service, settings)
    const browser = browserOf(service)
    const { Token } = (await browser.signIn(operator.email)).json().data.Session
    const there = () => beside.app.inject({ url: '/Operator/customers', headers: { authorization: `Bearer ${Token}` } })
    expect((await there()).statusCode).toBe(200)
    const watched = beside.app.accessWatch.watch(await beside.app.accessTokens.verify(Token, '127.0.0.1'))
    await browser.end()
    expect((await there()).json()).toEqual(failure('TOKEN_REVOKED'))
    clock.time += 500
    beside.clock.time += 500
    await beside.app.accessWatch.check()
    expect(watched.ended.aborted).toBe(true)
  })

  it('has a new reference after each sign-in, and the one before ends', async () => {
    const browser = browserOf(service)
    const first = (await browser.signIn(operator.email)).json().data.Session
    const { cookie } = browser
    const second = (await browser.signIn(operator.email)).json().data.Session
    expect(browser.cookie).not.toBe(cookie)
    expect((await me(first.Token)).statusCode).toBe(401)
    expect((await me(second.Token)).statusCode).toBe(200)
    Object.assign(browser, { cookie })
    expect(await browser.token()).toBeNull()
  })

  it('leaves the cookie of a new sign-in alone when somebody comes late with the reference before', async () => {
    const browser = browserOf(service)
    await browser.signIn(operator.email)
    const { cookie } = browser
    await browser.signIn(operator.email)
    const late = await browser.post(`${SESSION}/token`, { Active: true }, { headers: { cookie: cookie ?? '' } })
    expect([late.json().data.Session, late.headers['set-cookie']]).toEqual([null, undefined])
    expect(await browser.token()).not.toBeNull()
  })

  it('ends with all that come along when somebody signs in', async () => {
    const [one, other, both] = [browserOf(service), browserOf(service), browserOf(service)]
    await one.signIn(operator.email)
    await other.signIn(operator.email)
    both.cookie = `${one.cookie}; teslim-dev=none; ${other.cookie}`
    await both.signIn(operator.email)
    expect([await one.token(), await other.token()]).toEqual([null, null])
    expect(await both.token()).not.toBeNull()
  })

  it('does not begin with a reference that the browser brings', async () => {
    const browser = browserOf(service)
    browser.cookie = `teslim-dev=${'A'.repeat(43)}`
    await browser.signIn(operator.email)
    expect(browser.cookie).not.toContain('AAAA')
  })

  it('counts for nothing if two cookies have its name, and both expire', async () => {
    // Of its own: tests before may have left ten sessions of the other, at times to come.
    const { email } = await addCustomer(service, { scope: 'operator' })
    const [one, other] = [browserOf(service), browserOf(service)]
    await one.signIn(email)
    await other.signIn(email)
    const cookies = [one.cookie, other.cookie]
    for (const cookie of [cookies.join('; '), [one.cookie, one.cookie].join('; ')]) {
      const both = browserOf(service)
      both.cookie = cookie
      const answer = await both.post(`${SESSION}/token`, { Active: true })
      expect([answer.statusCode, answer.json()]).toEqual([401, failure('SESSION_ENDED')])
      for (const path of ['/', '/console/session'])
        expect(answer.headers['set-cookie']).toContain(
          `teslim-dev=; Path=${path}; HttpOnly; SameSite=Strict; Max-Age=0`,
        )
    }
    expect(await one.token()).not.toBeNull()
  })

  it('is looked for without a write, and among ten references at most, whatever somebody sends', async () => {
    const browser = browserOf(service)
    await browser.signIn(operator.email)
    const own = browser.cookie
    const others = Array.from({ length: 100 }, (_, number) => `teslim-dev=${String(number).padStart(43, 'A')}`)
    const { consoleSessions } = store
    const [find, ...writes] = [
      vi.spyOn(consoleSessions, 'find'),
      vi.spyOn(consoleSessions, 'renew'),
      vi.spyOn(consoleSessions, 'end'),
    ]
    onTestFinished(() => void vi.restoreAllMocks())
    const calls = () => writes.map(({ mock }) => mock.calls.length)
    browser.cookie = others[0]
    expect(await browser.token(true)).toBeNull()
    browser.cookie = others.join('; ')
    expect((await browser.end()).statusCode).toBe(200)
    expect(calls()).toEqual([0, 0])
    expect(find.mock.calls.length).toBeLessThanOrEqual(11)
    browser.cookie = [...others, own].join('; ')
    expect((await browser.end()).statusCode).toBe(200)
    expect(calls()).toEqual([0, 1])
    browser.cookie = own
    expect(await browser.token()).toBeNull()
  })

  it('is one of ten of an operator: the eleventh ends the oldest', async () => {
    const one = await addCustomer(service, { scope: 'operator' })
    const browsers = Array.from({ length: 11 }, () => browserOf(service))
    const alive = async () => {
      const tokens = []
      for (const browser of browsers) tokens.push(browser.cookie ? await browser.token() : null)
      return tokens.map((token) => token !== null)
    }
    const tokens: string[] = []
    for (const [index, browser] of browsers.entries()) {
      clock.time += 1000
      tokens.push((await browser.signIn(one.email)).json().data.Session.Token)
      if (index === 9) expect(await alive()).toEqual([...Array.from({ length: 10 }, () => true), false])
    }
    expect((await me(tokens[0] ?? '')).statusCode).toBe(401)
    expect(await alive()).toEqual([false, ...Array.from({ length: 10 }, () => true)])
  })

  it('ends with the tokens of its customer', async () => {
    const one = await addCustomer(service, { scope: 'operator' })
    const browser = browserOf(service)
    const { Token } = (await browser.signIn(one.email)).json().data.Session
    await service.customers.revokeTokens(one.id)
    expect((await me(Token)).statusCode).toBe(401)
    expect(await browser.token()).toBeNull()
  })

  it('is not known to a token that says less or something else of it', async () => {
    const browser = browserOf(service)
    const { Token } = (await browser.signIn(operator.email)).json().data.Session
    const { session } = await app.accessTokens.verify(Token, '127.0.0.1')
    expect(session).toEqual({ id: decodeJwt(Token).sid, authAt: decodeJwt(Token).auth_time })
    const customer = await app.currentCustomers.findById(operator.id)
    if (customer === undefined) throw new Error('no operator')
    const forged = await app.accessTokens.issue(customer, 'TR', { id: 'another', authAt: 1, until: 2e9 })
    expect((await me(forged.token)).json()).toEqual(failure('TOKEN_REVOKED'))
  })

  it('asks for the password again when the clock of the server has gone back behind it', async () => {
    const one = await addCustomer(service, { scope: 'operator' })
    const browser = browserOf(service)
    await browser.signIn(one.email)
    const codeAfter = async (milliseconds: number) => {
      clock.time += milliseconds
      const { Token } = await browser.token()
      const headers = { authorization: `Bearer ${Token}`, 'content-type': 'application/json' }
      const url = '/Webhook/endpoint/none/set'
      return (await app.inject({ method: 'POST', url, payload: { CA: null }, headers })).json().errorCode
    }
    // The clocks of two replicas differ a little.
    expect(await codeAfter(-MINUTE)).not.toBe('REAUTHENTICATION_REQUIRED')
    expect(await codeAfter(-1000)).toBe('REAUTHENTICATION_REQUIRED')
    await browser.signIn(one.email)
    expect(await codeAfter(0)).not.toBe('REAUTHENTICATION_REQUIRED')
  })

  it('is deleted with its address some time after it has expired, also where the console is off by now', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const off = await testAppBeside(service, { TESLIM_CONSOLE: 'off' })
    off.clock.time = clock.time
    const browser = browserOf(service)
    const { Token } = (await browser.signIn(operator.email)).json().data.Session
    const isThere = () => isSessionThere(store.consoleSessions, decodeJwt(Token).sid as string)
    expect(await isThere()).toBe(true)
    off.clock.time += 30 * MINUTE
    await vi.advanceTimersByTimeAsync(10 * MINUTE)
    await vi.waitFor(async () => expect(await isThere()).toBe(false))
  })

  it('is hidden with the console', async () => {
    const off = await testApp({ TESLIM_CONSOLE: 'off' })
    const elsewhere = await testApp({ TESLIM_OPERATOR_NETWORKS: '203.0.113.7' })
    for (const hidden of [off, elsewhere]) {
      for (const url of [SESSION, `${SESSION}/token`, `${SESSION}/end`]) {
        const answer = await hidden.app.inject({ method: 'POST', url, headers: OWN, payload: {} })
        expect(answer.statusCode).toBe(404)
      }
    }
  })
})
