import fc from 'fast-check'
import type { LightMyRequestResponse } from 'fastify'
import { describe, expect, it } from 'vitest'
import { ConfigError, loadConfig } from '#src/config/load-config.ts'
import { anyText } from '../support/any-text.ts'
import { LOGIN, testApp } from '../support/app/test-app.ts'
import { published } from '../support/docs/contract.ts'

const SHOP = 'https://shop.example'
const LOCAL = 'http://localhost:8080'
const off = (await testApp()).app
const on = (await testApp({ TESLIM_CORS_ORIGINS: `${SHOP}, ${LOCAL}` })).app
const open = (await testApp({ TESLIM_CORS_ORIGINS: '*' })).app

const READS = /^\/(Purchase|Supplier|Customer)\/|^\/openapi\.(yaml|json)$|^\/\.well-known\//
const paths = Object.entries(published.paths).map(([path, operations]) => {
  const url = path.replaceAll(/\{\w+\}/g, 'x')
  return { url, isRead: operations.get !== undefined && READS.test(path), posts: operations.post !== undefined }
})
const others = ['/docs', '/docs/reference.json', '/console', '/console/app.js', '/nowhere', '/']
const reads = paths.filter(({ isRead }) => isRead).map(({ url }) => url)
const addresses = [...paths.map(({ url }) => url), ...others]

const preflight = (origin: string, more = {}) => ({
  origin,
  'access-control-request-method': 'GET',
  'access-control-request-headers': 'authorization',
  ...more,
})
const corsHeaders = ({ headers }: LightMyRequestResponse) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))
const varies = ({ headers }: LightMyRequestResponse) => String(headers.vary ?? '').split(', ')

const READABLE = { 'access-control-expose-headers': 'x-request-id, etag, retry-after' }
const ASKABLE = {
  'access-control-allow-methods': 'GET, HEAD',
  'access-control-allow-headers': 'authorization, apikey, last-event-id, if-none-match',
  'access-control-max-age': '600',
}

it('no answer has a CORS header, whatever a browser asks, unless the operator names origins', async () => {
  for (const url of addresses) {
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS'] as const) {
      const answer = await off.inject({ method, url, headers: preflight(SHOP) })
      expect(corsHeaders(answer)).toEqual({})
      expect(varies(answer)).not.toContain('Origin')
    }
  }
})

describe('with origins in the settings', () => {
  it('pages of exactly these origins may read what GET and HEAD answer, refusals included', async () => {
    expect(reads.length).toBeGreaterThan(6)
    for (const url of reads) {
      for (const method of ['GET', 'HEAD'] as const) {
        for (const origin of [SHOP, LOCAL]) {
          const answer = await on.inject({ method, url, headers: { origin } })
          expect(corsHeaders(answer)).toEqual({ ...READABLE, 'access-control-allow-origin': origin })
          expect(varies(answer)).toContain('Origin')
        }
      }
    }
  })

  it.each([
    'https://shop.example.evil.example',
    'http://shop.example',
    'https://shop.example:8443',
    'https://shop.example/',
    'HTTPS://SHOP.EXAMPLE',
    'https://evil.example',
    'null',
    '',
    '*',
    `${SHOP}, ${LOCAL}`,
    `${SHOP} ${LOCAL}`,
    'file://',
    'http://localhost',
    'chrome-extension://abc',
  ])('a page of %j may not', async (origin) => {
    for (const url of reads) {
      const answers = [
        await on.inject({ url, headers: { origin } }),
        await on.inject({ method: 'OPTIONS', url, headers: preflight(origin) }),
      ]
      for (const answer of answers) {
        expect(corsHeaders(answer)).toEqual({})
        expect(varies(answer)).toContain('Origin')
      }
    }
  })

  it('any other text as an Origin allows nothing', async () => {
    await fc.assert(
      fc.asyncProperty(anyText(), async (text) => {
        const origin = text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '')
        fc.pre(![SHOP, LOCAL].includes(origin))
        const answer = await on.inject({ url: '/Customer/Get', headers: { origin } })
        expect([answer.statusCode, corsHeaders(answer)]).toEqual([401, {}])
      }),
    )
  })

  it('an answer to who sends no Origin says that it depends on it', async () => {
    const answer = await on.inject('/.well-known/jwks.json')
    expect(corsHeaders(answer)).toEqual({})
    expect(answer.headers.vary).toBe('Origin, Accept-Encoding')
  })

  it('the question before a read is answered without a credential', async () => {
    for (const url of reads) {
      const answer = await on.inject({ method: 'OPTIONS', url: url.toLowerCase(), headers: preflight(SHOP) })
      expect([answer.statusCode, answer.payload]).toEqual([204, ''])
      expect(corsHeaders(answer)).toEqual({ ...ASKABLE, 'access-control-allow-origin': SHOP })
      expect(answer.headers).toMatchObject({ allow: 'GET, HEAD, OPTIONS', vary: 'Origin' })
    }
  })

  it('the question before a request of a public page to a private network is not granted', async () => {
    const headers = preflight(SHOP, { 'access-control-request-private-network': 'true' })
    const answer = await on.inject({ method: 'OPTIONS', url: '/Purchase/list', headers })
    expect(corsHeaders(answer)).not.toHaveProperty('access-control-allow-private-network')
  })

  it('an OPTIONS that is no such question gets only what a read gets', async () => {
    const answer = await on.inject({ method: 'OPTIONS', url: '/Purchase/list', headers: { origin: SHOP } })
    expect([answer.statusCode, corsHeaders(answer)]).toEqual([204, { 'access-control-allow-origin': SHOP }])
  })

  it('neither the login nor deliveries, nor anything else, have a CORS header', async () => {
    const without = [...paths.filter(({ isRead }) => !isRead).map(({ url }) => url), ...others]
    expect(without).toEqual(
      expect.arrayContaining([LOGIN, '/Purchase/update', '/livez', '/Operator/live', '/Operator/find']),
    )
    for (const app of [on, open]) {
      for (const url of without) {
        for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS'] as const) {
          const headers = preflight(SHOP, { 'access-control-request-method': 'POST' })
          expect(corsHeaders(await app.inject({ method, url, headers }))).toEqual({})
        }
      }
    }
  })

  it('no answer allows another method than GET and HEAD, nor cookies', async () => {
    for (const app of [on, open]) {
      for (const url of addresses) {
        const headers = preflight(SHOP, { 'access-control-request-method': 'DELETE', cookie: 'a=b' })
        const answer = corsHeaders(await app.inject({ method: 'OPTIONS', url, headers }))
        expect(answer).not.toHaveProperty('access-control-allow-credentials')
        expect([undefined, 'GET, HEAD']).toContain(answer['access-control-allow-methods'])
      }
    }
  })

  it('* allows every page, also one without an origin of its own', async () => {
    for (const origin of [SHOP, 'null', 'https://any.example']) {
      const answer = await open.inject({ url: '/Purchase/list', headers: { origin } })
      expect(corsHeaders(answer)).toEqual({ ...READABLE, 'access-control-allow-origin': '*' })
      expect(varies(answer)).not.toContain('Origin')
      const question = await open.inject({ method: 'OPTIONS', url: '/Purchase/list', headers: preflight(origin) })
      expect(corsHeaders(question)).toEqual({ ...ASKABLE, 'access-control-allow-origin': '*' })
    }
  })
})

describe('TESLIM_CORS_ORIGINS', () => {
  it.each([
    ['', []],
    ['*', ['*']],
    [`${SHOP},${LOCAL}`, [SHOP, LOCAL]],
    ['http://[::1]:3000', ['http://[::1]:3000']],
    ['https://xn--mnchen-3ya.example', ['https://xn--mnchen-3ya.example']],
  ])('%j is taken', (written, corsOrigins) => {
    expect(loadConfig({ TESLIM_CORS_ORIGINS: written }).config.corsOrigins).toEqual(corsOrigins)
  })

  it.each([
    'null',
    'shop.example',
    `${SHOP}/`,
    `${SHOP}/path`,
    `${SHOP}:443`,
    'https://SHOP.example',
    'https://münchen.example',
    'https://*.example',
    'https://user@shop.example',
    `*,${SHOP}`,
    `${SHOP},`,
    ',',
    'ftp://shop.example',
    'https://',
    'https:shop.example',
    'javascript:alert(1)',
  ])('%j is refused', (written) => {
    expect(() => loadConfig({ TESLIM_CORS_ORIGINS: written })).toThrow(ConfigError)
  })
})
