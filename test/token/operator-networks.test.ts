import type { InjectOptions } from 'fastify'
import { describe, expect, it, vi } from 'vitest'
import { type Role, SCOPES } from '#src/customer/rights.ts'
import { message } from '#src/lib/messages/message.ts'
import { operatorNetworks } from '#src/lib/net/networks.ts'
import { systemRandom } from '#src/lib/random.ts'
import { passwords } from '#src/login/hashing.ts'
import { createPasswordMemory } from '#src/login/password-memory.ts'
import { failure } from '../support/app/failure.ts'
import { ruleOf } from '../support/app/log-in.ts'
import { operating } from '../support/app/operating.ts'
import { exchange } from '../support/app/raw-http.ts'
import { increase, seriesOf } from '../support/app/scrape.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { addCustomer, LOGIN, PASSWORD, testApp, testAppBeside } from '../support/app/test-app.ts'
import { published } from '../support/docs/contract.ts'

const NETWORKS = { TESLIM_OPERATOR_NETWORKS: '203.0.113.0/24, 2001:db8::/32' }
const service = await testApp(NETWORKS)
const { app, store, log } = service
const behind = await testAppBeside(service, { ...NETWORKS, TESLIM_TRUST_PROXY: 'loopback' })
await behind.app.listen({ port: 0 })
const url = `http://127.0.0.1:${(behind.app.server.address() as { port: number }).port}`

const INSIDE = '203.0.113.7'
const ELSEWHERE = '198.51.100.1'
/** Every spelling of an address from which operators may come. */
const inside = [INSIDE, '::ffff:203.0.113.255', '::ffff:cb00:7109', '2001:0DB8:0:0:0:0:0:1', '2001:db8::1%eth0']
const outside = [ELSEWHERE, '203.0.114.0', '::ffff:198.51.100.1', '2001:db9::', '127.0.0.1', '::1', 'unknown']

/** The requests of operators, customers and suppliers, as the tests of the whole contract know them. */
const operations = Object.entries(published.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { security = [], responses }]) => ({
    path: path.replaceAll(/\{\w+\}/g, 'x'),
    method: method.toUpperCase() as 'GET',
    needsToken: security.some((scheme) => 'bearer' in scheme && !('ApiKey' in scheme)),
    refusesOthers: 'OPERATOR_REQUIRED' in (responses[403]?.content?.['application/json']?.examples ?? {}),
  })),
)

const logInAt = async (email: string, remoteAddress: string, password = PASSWORD, headers = {}) =>
  service.login({ Email: email, Password: password }, { remoteAddress, headers })
const tokenOf = async (more: Parameters<typeof addCustomer>[1]) => {
  const customer = await addCustomer(service, more)
  const answer = await logInAt(customer.email, INSIDE)
  return { customer, token: answer.json().data.Token as string }
}
/** Everybody whose token opens more than the data of its own customer. */
const ROLES = SCOPES.filter((scope) => scope !== 'customer').flatMap((scope): Role[] =>
  (scope === 'operator:support' ? [false, true] : [false]).map((payloads) => ({ scope, payloads })),
)
const operators = await Promise.all(ROLES.map(async (role) => ({ role, ...(await tokenOf(role)) })))
const full = operators.find(({ role }) => role.scope === 'operator') as (typeof operators)[number]
const customer = await tokenOf({})

const page = (await service.app.inject({ url: '/console', remoteAddress: INSIDE })).payload
const pageFiles = page.match(/\/console\/[\w.-]+/g) ?? []

describe('elsewhere the routes of operators', () => {
  const hidden = [
    ...operations.filter(({ path }) => /^\/(?:Operator|Webhook)\//.test(path)).map(({ path }) => path),
    '/console',
    ...pageFiles,
  ]
  const paths = [...new Set(hidden)]
  /** One of each kind: a list, an action with a body, a stream, the page and a file of it. */
  const SOME = ['/Webhook/endpoints', '/Operator/customer/x/allow', '/Operator/live', '/console', pageFiles[0] ?? '']
  const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']

  /** The bytes of an answer on a connection of its own, without the time. */
  const answerTo = async (
    path: string,
    method = 'GET',
    lines: readonly string[] = [],
    more: { address?: string; body?: string } = {},
  ) => {
    const { address = ELSEWHERE, body = '' } = more
    const head = [`${method} ${path} HTTP/1.1`, 'Host: a', 'X-Request-Id: same', 'Connection: close']
    const request = [...head, `X-Forwarded-For: ${address}`, ...lines, '', body].join('\r\n')
    return (await exchange(url, request)).replace(/^date: .*$/im, 'date:')
  }
  /** The same address with another first part, which nothing has. */
  const nowhere = (path: string): string =>
    path.replace(/(console|op?%?\w*erator|webhoo[k%]\w*(?:%\w\w)*|%4fperator)/i, 'nowhere')
  const authorization = `Authorization: Bearer ${full.token}`

  it('are all those that only operators may use, and the console', () => {
    expect(paths.length).toBeGreaterThan(25)
    expect(operations.filter(({ refusesOthers, path }) => refusesOthers && !hidden.includes(path))).toEqual([])
  })

  it.each(METHODS)('answer %s to the byte as an unknown address does', async (method) => {
    const isRead = method === 'GET' || method === 'HEAD'
    const lines = isRead ? [authorization] : [authorization, 'Content-Type: application/json', 'Content-Length: 2']
    const body = isRead ? '' : '{}'
    for (const path of paths) {
      const unknown = await answerTo(nowhere(path), method, lines, { body })
      expect(unknown).toMatch(/^HTTP\/1\.1 404 /)
      expect(await answerTo(path, method, lines, { body }), path).toBe(unknown)
      // From the right place something is there.
      expect(await answerTo(path, method, lines, { body, address: INSIDE })).not.toBe(unknown)
    }
  })

  it.each([
    ['a preflight', 'OPTIONS', ['Origin: https://a.example', 'Access-Control-Request-Method: GET']],
    ['another origin', 'GET', ['Origin: https://a.example', authorization]],
    ['an API key', 'GET', ['ApiKey: tsl_x']],
    ['two tokens', 'GET', [authorization, authorization]],
    ['a token that is none', 'GET', ['Authorization: Bearer x']],
    ['compression', 'GET', ['Accept-Encoding: gzip, br']],
    ['a tag', 'GET', ['If-None-Match: *']],
    ['events', 'GET', ['Accept: text/event-stream', authorization]],
    ['a WebSocket', 'GET', ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13']],
    ['a body that is too large', 'POST', ['Content-Length: 999999999', authorization]],
    ['a body to come', 'POST', ['Content-Length: 9', 'Expect: 100-continue', authorization]],
    ['a body that is compressed', 'POST', ['Content-Encoding: gzip', 'Content-Length: 0', authorization]],
    ['an expectation', 'POST', ['Expect: magic', authorization]],
    ['nothing', 'GET', []],
  ])('are an unknown address with %s', async (_name, method, lines) => {
    for (const path of SOME)
      expect(await answerTo(path, method, lines)).toBe(await answerTo(nowhere(path), method, lines))
  })

  it.each([
    '/operator/CUSTOMERS',
    '//Operator/customers',
    '///operator/customers/',
    '/Operator/customers?limit=1',
    '/Operator/customers#a',
    '/%4fperator/customers',
    '/%4Fper%61tor/customers?x=%2f',
    'http://a/Operator/customers',
    'HTTP://a//Operator/customers',
    '/Operator/customer/..%2f..%2fPurchase',
    '/Operator/customer/%00',
    // Its lower case is a plain k.
    '/Webhoo%E2%84%AA/endpoints',
    '/CONSOLE/',
    '/console?a',
  ])('are hidden when they are asked for as %s', async (path) => {
    const unknown = await answerTo(nowhere(path), 'GET', [authorization])
    expect(unknown).toMatch(/^HTTP\/1\.1 404 [\s\S]*NOT_FOUND/)
    expect(await answerTo(path, 'GET', [authorization])).toBe(unknown)
    expect(await answerTo(path, 'OPTIONS')).toBe(await answerTo(nowhere(path), 'OPTIONS'))
    expect(await answerTo(path, 'GET', [authorization], { address: INSIDE })).not.toBe(unknown)
  })

  it.each([
    '/Operator%2Fcustomers',
    '/Operator./customers',
    '/Operator/%zz',
    '/Operator/%E0%A4/x',
    '/x/../Operator/customers',
  ])('are nowhere and no other answer as %s, wherever one is', async (path) => {
    for (const address of [INSIDE, ELSEWHERE])
      expect(await answerTo(path, 'GET', [], { address })).toBe(await answerTo(nowhere(path), 'GET', [], { address }))
  })

  it('are unknown in HTTP/1.0, and to a client that is still sending', async () => {
    const old = (path: string) =>
      exchange(url, `GET ${path} HTTP/1.0\r\nX-Request-Id: same\r\nX-Forwarded-For: ${ELSEWHERE}\r\n\r\n`)
    const [found = '', unknown = ''] = [await old('/Operator/customers'), await old('/nowhere/customers')]
    expect(found.replace(/^date: .*$/im, '')).toBe(unknown.replace(/^date: .*$/im, ''))
    expect(found).toContain('NOT_FOUND')
    const half = ['Transfer-Encoding: chunked', 'Content-Type: application/json', authorization]
    const body = '4\r\n{"a"\r\n'
    expect(await answerTo('/Operator/customers', 'POST', half, { body })).toBe(
      await answerTo('/nowhere/customers', 'POST', half, { body }),
    )
  })

  it('are hidden by the address that a trusted proxy names, and by no other one', async () => {
    const status = async (remoteAddress: string, forwarded?: string, from = behind.app) => {
      const headers = {
        authorization: `Bearer ${full.token}`,
        ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }),
      }
      return (await from.inject({ url: '/Operator/customers', headers, remoteAddress })).statusCode
    }
    for (const address of inside) expect([address, await status(address, undefined, app)]).toEqual([address, 200])
    for (const address of outside) expect([address, await status(address, undefined, app)]).toEqual([address, 404])
    // Whoever connects without a proxy names nobody.
    for (const address of outside) expect(await status(address, INSIDE, app)).toBe(404)
    for (const forwarded of [INSIDE, `${ELSEWHERE}, ${INSIDE}`, `${INSIDE}:4711`, '[2001:db8::7]:4711'])
      expect([forwarded, await status('127.0.0.1', forwarded)]).toEqual([forwarded, 200])
    for (const forwarded of [ELSEWHERE, `${INSIDE}, ${ELSEWHERE}`, '', 'nonsense', `${INSIDE}, nonsense`])
      expect([forwarded, await status('127.0.0.1', forwarded)]).toEqual([forwarded, 404])
    expect(await status(ELSEWHERE, INSIDE)).toBe(404)
  })

  it('are logged and counted as an unknown address is', async () => {
    log.length = 0
    const before = seriesOf(await service.metrics.text('text'))
    await app.inject({ url: '/Operator/customers', remoteAddress: ELSEWHERE })
    await app.inject({ url: '/nowhere', remoteAddress: ELSEWHERE })
    const [found, unknown] = log.map(({ time: _time, durationMs: _milliseconds, requestId: _id, ...line }) => line)
    expect(found).toEqual({ ...unknown, route: null, status: 404, errorCode: 'NOT_FOUND', address: ELSEWHERE })
    const counted = increase(before, seriesOf(await service.metrics.text('text')))
    expect(counted).toMatchObject({
      'teslim_http_requests_total{method="GET",route="unknown",status="404"}': 2,
      'teslim_refusals_total{action="other",code="NOT_FOUND",class="request"}': 2,
    })
    expect(Object.keys(counted).filter((series) => series.includes('/Operator/'))).toEqual([])
  })

  it('are in no list of methods, and the console in no link', async () => {
    const about = async (remoteAddress: string) => [
      (await app.inject({ url: '/', remoteAddress })).json().data.Links.Console,
      (await app.inject({ method: 'OPTIONS', url: '/Operator/customers', remoteAddress })).headers.allow,
    ]
    expect(await about(INSIDE)).toEqual(['/console', 'GET, HEAD, OPTIONS, POST'])
    expect(await about(ELSEWHERE)).toEqual([undefined, undefined])
  })
})

describe('elsewhere the token of whoever sees the data of all', () => {
  const open = operations.filter(({ needsToken, path }) => needsToken && !/^\/(?:Operator|Webhook)\//.test(path))
  const send = (operation: InjectOptions, token: string, remoteAddress: string, headers = {}) =>
    app.inject({
      ...operation,
      remoteAddress,
      headers: { authorization: `Bearer ${token}`, 'x-request-id': 'same', ...headers },
    })

  it('is refused on every route, to the byte like a revoked one, and others are not', async () => {
    const revoked = await tokenOf({ scope: 'operator' })
    await service.customers.revokeTokens(revoked.customer.id)
    expect(open.length).toBeGreaterThan(8)
    for (const { path, method } of open) {
      for (const asked of method === 'GET' ? ['GET', 'HEAD'] : [method]) {
        const request: InjectOptions = { method: asked as 'GET', url: path }
        const expected = await send(request, revoked.token, INSIDE)
        expect(expected.statusCode).toBe(401)
        for (const { role, token } of operators) {
          const answer = await send(request, token, ELSEWHERE)
          expect([path, role, answer.payload, answer.statusCode]).toEqual([path, role, expected.payload, 401])
          expect({ ...answer.headers, date: '' }).toEqual({ ...expected.headers, date: '' })
          expect([path, role, (await send(request, token, INSIDE)).statusCode]).not.toEqual([path, role, 401])
        }
        expect([path, (await send(request, customer.token, ELSEWHERE)).statusCode]).not.toEqual([path, 401])
      }
    }
  })

  it('is in the audit log as refused, with its customer, its address and why', async () => {
    const before = (await store.audit.list({ limit: 1000 })).length
    const { customer: operator, token } = await tokenOf({ scope: 'operator:read' })
    log.length = 0
    expect((await send({ url: '/Purchase/list' }, token, ELSEWHERE)).json()).toEqual(failure('TOKEN_REVOKED'))
    await app.flushRefusals()
    const events = (await store.audit.list({ limit: 1000, customerId: operator.id })).filter(
      ({ action }) => action === 'operator.refused',
    )
    expect(events).toMatchObject([
      {
        actor: 'api',
        address: ELSEWHERE,
        requestId: 'same',
        details: { errorCode: 'TOKEN_REVOKED', reason: message('OPERATOR_ELSEWHERE') },
      },
    ])
    expect(log).toMatchObject([
      { status: 401, customerId: operator.id, reason: 'an operator outside TESLIM_OPERATOR_NETWORKS' },
    ])
    expect((await store.audit.list({ limit: 1000 })).length).toBeGreaterThan(before)
  })

  it('beside an API key of its own opens no delivery, and the key alone does', async () => {
    const { customer: operator, key } = await addSupplier(service, { scope: 'operator' })
    const token = (await logInAt(operator.email, INSIDE)).json().data.Token
    const deliver = (remoteAddress: string, headers = {}) =>
      app.inject({
        method: 'POST',
        url: '/Purchase/update',
        remoteAddress,
        headers: { ApiKey: key, ...headers },
        payload: '{"Status":1}',
      })
    const both = { authorization: `Bearer ${token}` }
    expect((await deliver(ELSEWHERE, both)).json()).toEqual(failure('TOKEN_REVOKED'))
    expect([(await deliver(INSIDE, both)).statusCode, (await deliver(ELSEWHERE)).statusCode]).toEqual([200, 200])
    await app.flushRefusals()
    const events = await store.audit.list({ limit: 1000, customerId: operator.id, action: 'delivery.refused' })
    expect(events.at(-1)?.details).toMatchObject({ reason: message('OPERATOR_ELSEWHERE') })
  })
})

describe('elsewhere the login of whoever sees the data of all', () => {
  let next = 0
  /** An address that has no failures. */
  const clean = (): string => `10.1.0.${++next}`

  it.each(ROLES)('%j is refused to the byte like a wrong password, after one hash was verified', async (role) => {
    const operator = await addCustomer(service, role)
    const address = clean()
    const same = { 'x-request-id': 'same' }
    const wrong = await logInAt(operator.email, address, 'another password', same)
    log.length = 0
    const answer = await logInAt(operator.email, address, PASSWORD, same)
    expect([answer.statusCode, answer.payload]).toEqual([400, wrong.payload])
    expect({ ...answer.headers, date: '' }).toEqual({ ...wrong.headers, date: '' })
    expect(log).toMatchObject([
      { route: LOGIN, customerId: operator.id, reason: 'an operator outside TESLIM_OPERATOR_NETWORKS' },
    ])
    await app.flushRefusals()
    const events = await store.audit.list({ limit: 1000, customerId: operator.id, action: 'login.refused' })
    const reasons = events.map(({ details, address }) => [details.reason, address])
    expect(reasons).toContainEqual([message('OPERATOR_ELSEWHERE'), address])
    expect((await logInAt(operator.email, INSIDE)).statusCode).toBe(200)
    // An API customer logs in from wherever it is.
    expect((await logInAt(customer.customer.email, clean())).statusCode).toBe(200)
  })

  it('is hashed once, although the password was recognised without a hash a moment ago', async () => {
    const { email } = await addCustomer(service, { scope: 'operator' })
    const verify = vi.fn(passwords.verify)
    const logIn = ruleOf(service, {
      passwords: { ...passwords, verify },
      memory: createPasswordMemory(300, systemRandom, service.clock),
      operatorNetworks: operatorNetworks(['203.0.113.0/24']),
    })
    for (let time = 0; time < 2; time++) await logIn(email, PASSWORD, INSIDE)
    expect(verify).toHaveBeenCalledTimes(1)
    for (const password of [PASSWORD, 'another password', PASSWORD]) {
      verify.mockClear()
      await expect(logIn(email, password, clean())).rejects.toMatchObject({ code: 'LOGIN_REFUSED' })
      expect(verify.mock.calls.map(([hash]) => hash)).toEqual([
        expect.stringMatching(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/),
      ])
    }
    // Even a password that "matches" opens nothing.
    verify.mockResolvedValue(true)
    await expect(logIn(email, PASSWORD, clean())).rejects.toMatchObject({ code: 'LOGIN_REFUSED' })
  })

  it('counts as a wrong password does, and keeps nobody out inside', async () => {
    const { email } = await addCustomer(service, { scope: 'operator' })
    const { email: other } = await addCustomer(service)
    const codes = async (who: string, password: string) => {
      const address = clean()
      const answers = []
      for (let time = 0; time < 7; time++) answers.push((await logInAt(who, address, password)).json().errorCode)
      return answers
    }
    const wrong = await codes(other, 'another password')
    expect(wrong).toContain('LOGIN_THROTTLED')
    expect(await codes(email, PASSWORD)).toEqual(wrong)
    expect((await logInAt(email, INSIDE)).statusCode).toBe(200)
  })
})

it('unless the setting names networks, operators come from anywhere', async () => {
  const anywhere = await testApp()
  const { get } = await operating(anywhere)
  for (const remoteAddress of [...inside, ...outside])
    expect((await anywhere.app.inject({ url: '/console', remoteAddress })).statusCode).toBe(200)
  expect((await get('/Operator/customers')).statusCode).toBe(200)
})
