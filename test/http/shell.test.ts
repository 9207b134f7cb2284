import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { httpErrors } from '#src/http/http.errors.ts'
import type { ErrorDefinition } from '#src/lib/app-error.ts'
import { VERSION } from '#src/lib/version.ts'
import { loginErrors } from '#src/login/login.errors.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { tokenErrors } from '#src/token/token.errors.ts'
import { failure } from '../support/app/failure.ts'
import { LOGIN, testApp } from '../support/app/test-app.ts'

const { app, log, login, store } = await testApp({ TESLIM_BODY_LIMIT: '2048' })

describe('every answer', () => {
  it.each([
    ['GET', '/livez', 200],
    ['GET', '/nowhere', 404],
    ['GET', LOGIN, 405],
    ['GET', '/%zz', 400],
    ['POST', LOGIN, 415],
  ] as const)('to %s %s is JSON with the same headers, at status %i', async (method, url, status) => {
    const { statusCode, headers } = await app.inject({ method, url })
    expect(statusCode).toBe(status)
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': expect.stringMatching(/^[\x21-\x7e]+$/),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
    })
    expect(headers).not.toHaveProperty('server')
    expect(headers).not.toHaveProperty('x-powered-by')
  })
})

describe('GET /', () => {
  it('says what answers here, in which version, and where to go on; each link is answered', async () => {
    const { statusCode, payload, headers } = await app.inject('/')
    const Links = {
      Docs: '/docs',
      Console: '/console',
      OpenApi: '/openapi.yaml',
      Ready: '/readyz',
      PublicKeys: '/.well-known/jwks.json',
    }
    const data = { Name: 'teslim', Version: VERSION, Links }
    expect([statusCode, JSON.parse(payload)]).toEqual([200, { data, success: true, message: 'OK' }])
    for (const link of Object.values(Links)) expect((await app.inject(link)).statusCode).toBe(200)
    const head = await app.inject({ method: 'HEAD', url: '/' })
    expect([head.statusCode, head.payload, head.headers['content-length']]).toEqual([
      200,
      '',
      headers['content-length'],
    ])
  })

  it('names no page that is turned off', async () => {
    const { app } = await testApp({ TESLIM_DOCS: 'off', TESLIM_CONSOLE: 'off' })
    const { Links } = (await app.inject('/')).json().data
    expect(Object.keys(Links)).toEqual(['OpenApi', 'Ready', 'PublicKeys'])
  })
})

describe('an address', () => {
  it.each(['/nowhere', '/Login', `${LOGIN}/more`, '/livez/../nowhere', '/%2e%2e/etc/passwd', '/livez;x=1'])(
    '%s that is not there is a 404',
    async (url) => {
      const answer = await app.inject(url)
      expect(answer.statusCode).toBe(404)
      expect(answer.json()).toEqual(failure('NOT_FOUND'))
    },
  )

  it.each(['GET', 'PUT', 'DELETE', 'PATCH', 'HEAD'] as const)(
    'of the login under %s is a 405 that names POST',
    async (method) => {
      const answer = await app.inject({ method, url: `${LOGIN.toLowerCase()}/?x=1` })
      expect(answer.statusCode).toBe(405)
      expect(answer.headers.allow).toBe('POST')
      if (method !== 'HEAD') expect(answer.json()).toEqual(failure('METHOD_NOT_ALLOWED'))
    },
  )

  it.each([
    [LOGIN, 'OPTIONS, POST'],
    ['/livez/?x=1', 'GET, HEAD, OPTIONS'],
    ['/PURCHASE/detail/a%2Fb', 'GET, HEAD, OPTIONS'],
  ])('%s says under OPTIONS what it allows', async (url, allow) => {
    const { statusCode, payload, headers } = await app.inject({ method: 'OPTIONS', url })
    expect([statusCode, payload, headers.allow]).toEqual([204, '', allow])
    expect(headers).not.toHaveProperty('content-length')
    expect(headers).not.toHaveProperty('content-type')
  })

  it.each(['/nowhere', '/docs/nowhere/else', '/Purchase', '/*'])(
    '%s that is not there is a 404 under OPTIONS too',
    async (url) => {
      const answer = await app.inject({ method: 'OPTIONS', url })
      expect([answer.statusCode, answer.json()]).toEqual([404, failure('NOT_FOUND')])
    },
  )

  it('says which methods an address allows', async () => {
    const { message } = (await app.inject({ method: 'DELETE', url: '/livez' })).json()
    expect(message).toBe('This address allows GET and HEAD only, not DELETE.')
  })

  it.each(['http://x/livez', '/%6Civez', '/livez#x'])('spelled %s is known under another method too', async (url) => {
    expect((await app.inject({ method: 'DELETE', url })).statusCode).toBe(405)
  })

  it.each(['DELETE', 'POST', 'GET'] as const)('with a semicolon is another address under %s too', async (method) => {
    const answer = await app.inject({ method, url: '/Purchase/update;x' })
    expect([answer.statusCode, answer.json()]).toEqual([404, failure('NOT_FOUND')])
  })

  it('of a health check takes GET and HEAD', async () => {
    const answer = await app.inject({ method: 'POST', url: '/readyz', payload: {} })
    expect(answer.headers.allow).toBe('GET, HEAD')
    expect((await app.inject({ method: 'HEAD', url: '/readyz' })).statusCode).toBe(200)
  })

  it.each(['GET', 'POST', 'DELETE', 'OPTIONS'] as const)('that cannot be decoded is a 400 under %s', async (method) => {
    const answer = await app.inject({ method, url: '/%zz' })
    expect([answer.statusCode, answer.json()]).toEqual([400, failure('BAD_REQUEST')])
  })

  it('may be asked for with a Content-Type on a GET', async () => {
    const answer = await app.inject({ url: '/livez', headers: { 'content-type': 'application/json' } })
    expect(answer.json()).toEqual({ data: { Status: 'ok', Version: VERSION }, success: true, message: 'OK' })
  })
})

describe('a request id', () => {
  const idFor = async (sent: string): Promise<unknown> => {
    const answer = await app.inject({ url: '/nowhere', headers: { 'x-request-id': sent } })
    expect(answer.json().requestId).toBe(answer.headers['x-request-id'])
    return answer.headers['x-request-id']
  }

  it('of the client is kept when it is 1 to 128 visible ASCII characters', async () => {
    const visible = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 1,
      maxLength: 128,
    })
    await fc.assert(
      fc.asyncProperty(visible, async (id) => {
        expect(await idFor(id)).toBe(id)
      }),
    )
  })

  it.each(['', ' ', 'a b', 'x'.repeat(129), 'ü', 'a\tb'])('%j of the client is replaced', async (sent) => {
    expect(await idFor(sent)).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('a body', () => {
  it('beyond the limit is a 413', async () => {
    const answer = await login(`{"Email":"${'x'.repeat(2048)}"}`)
    expect(answer.statusCode).toBe(413)
    expect(answer.json()).toEqual(failure('BODY_TOO_LARGE'))
  })

  it.each(['gzip', 'br', 'identity, gzip', ''])('with Content-Encoding %j is a 415', async (encoding) => {
    const answer = await login('{}', { headers: { 'content-encoding': encoding } })
    expect(answer.statusCode).toBe(415)
    expect(answer.json()).toEqual(failure('UNSUPPORTED_CONTENT_ENCODING'))
  })

  it('with Content-Encoding identity is read', async () => {
    expect((await login('{}', { headers: { 'content-encoding': 'Identity' } })).json().errorCode).toBe(
      'INVALID_REQUEST',
    )
  })
})

describe('when the store fails', () => {
  it('the service is not ready, but alive, and a login is a 503 that says to come back', async () => {
    const broken = await testApp()
    await broken.store.close()
    Object.assign(broken.store, { close: async () => undefined })
    const ready = await broken.app.inject('/readyz')
    expect([ready.statusCode, ready.headers['retry-after'], ready.json()]).toEqual([
      503,
      '1',
      failure('STORE_UNAVAILABLE', {
        message: 'The store cannot take anything: it is closed (statement has been finalized).',
      }),
    ])
    expect((await broken.app.inject('/livez')).statusCode).toBe(200)
    const answer = await broken.login({ Email: 'a@b.c', Password: 'whatever' })
    expect([answer.statusCode, answer.json()]).toEqual([503, failure('STORE_UNAVAILABLE')])
  })
})

it('every refusal of credentials has a code that says which of them are meant', () => {
  const all = [httpErrors, tokenErrors, purchaseErrors, customerErrors, loginErrors, storeErrors]
  const codes = all.flatMap((registry) => Object.values<ErrorDefinition>(registry))
  const unauthenticated = codes.filter(({ kind }) => kind === 'unauthenticated').map(({ code }) => code)
  expect(unauthenticated.filter((code) => !/^(API_KEY|TOKEN)_/.test(code))).toEqual([])
})

describe('a defect', () => {
  it('is a 500 without its message or stack, which are in the log', async () => {
    const findByEmail = store.customers.findByEmail
    log.length = 0
    Object.assign(store.customers, { findByEmail: () => Promise.reject(new Error('secret detail')) })
    const answer = await login({ Email: 'a@b.c', Password: 'whatever' }, { headers: { 'x-request-id': 'broken' } })
    Object.assign(store.customers, { findByEmail })
    expect(answer.statusCode).toBe(500)
    expect(answer.json()).toEqual(failure('INTERNAL'))
    expect(answer.payload).not.toMatch(/secret|stack|\.ts/)
    expect(log).toMatchObject([
      { level: 50, requestId: 'broken', err: { message: 'secret detail', stack: expect.any(String) } },
      { status: 500, errorCode: 'INTERNAL', requestId: 'broken' },
    ])
  })
})
