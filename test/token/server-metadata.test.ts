import { createLocalJWKSet, jwtVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { addCustomer, PASSWORD, testApp } from '../support/app/test-app.ts'

const OAUTH = '/.well-known/oauth-authorization-server'
const OPENID = '/.well-known/openid-configuration'

const withIssuer = (issuer: string, more = {}) => testApp({ TESLIM_TOKEN_ISSUER: issuer, ...more })

describe('the metadata of a server whose issuer is an https URL', () => {
  it.each(['ES256', 'EdDSA'])('leads to the keys that verify a %s token, from nothing but the issuer', async (alg) => {
    const service = await withIssuer('https://api.example.com', { TESLIM_TOKEN_ALGORITHM: alg })
    const { email } = await addCustomer(service)
    const { Token } = (await service.login({ Email: email, Password: PASSWORD })).json().data
    for (const url of [OAUTH, OPENID]) {
      const { statusCode, headers, payload } = await service.app.inject(url)
      expect([statusCode, headers['content-type'], headers['cache-control']]).toEqual([
        200,
        'application/json; charset=utf-8',
        'public, max-age=60',
      ])
      const metadata = JSON.parse(payload)
      expect(metadata).toEqual({
        issuer: 'https://api.example.com',
        jwks_uri: 'https://api.example.com/.well-known/jwks.json',
        response_types_supported: ['none'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: [alg],
      })
      const keys = createLocalJWKSet((await service.app.inject(new URL(metadata.jwks_uri).pathname)).json())
      const { issuer, id_token_signing_alg_values_supported: algorithms } = metadata
      const { payload: claims } = await jwtVerify(Token, keys, {
        issuer,
        algorithms,
        currentDate: new Date(service.clock.now()),
        audience: 'teslim',
        typ: 'at+jwt',
        // What RFC 9068 requires.
        requiredClaims: ['exp', 'sub', 'client_id', 'iat', 'jti'],
      })
      expect(claims.client_id).toBe(claims.sub)
    }
  })

  it('stands where RFC 8414 puts the path of an issuer, and where a proxy leads that removes the path', async () => {
    for (const issuer of ['https://example.com:8443/orders/v1', 'https://example.com:8443/orders/v1/']) {
      const { app } = await withIssuer(issuer)
      for (const url of [`${OAUTH}/orders/v1`, `${OAUTH}/orders/v1/`, OPENID])
        expect((await app.inject(url)).json(), url).toMatchObject({
          issuer,
          jwks_uri: 'https://example.com:8443/orders/v1/.well-known/jwks.json',
        })
      for (const url of [OAUTH, `${OAUTH}/orders`]) expect((await app.inject(url)).statusCode).toBe(404)
    }
  })

  it('is tagged, read by pages of the origins that may read, and in the contract of that server', async () => {
    const { app } = await withIssuer('https://example.com/orders', { TESLIM_CORS_ORIGINS: 'https://shop.example' })
    const { headers } = await app.inject({ url: OPENID, headers: { origin: 'https://shop.example' } })
    expect(headers).toMatchObject({
      'access-control-allow-origin': 'https://shop.example',
      etag: expect.stringMatching(/^W\//),
    })
    const { paths } = await app.contract()
    expect(Object.keys(paths).filter((path) => path.startsWith('/.well-known/'))).toEqual([
      '/.well-known/jwks.json',
      `${OAUTH}/orders`,
      OPENID,
    ])
  })
})

it.each([
  'teslim',
  'http://api.example.com',
  'https://',
  'https://api.example.com?x=1',
  'https://api.example.com/#x',
  'https://user@api.example.com',
  'https://api.example.com/:id',
  'https://api.example.com/*',
  'https://[api',
])('a server with the issuer %s has no metadata', async (issuer) => {
  const { app } = await withIssuer(issuer)
  for (const url of [OAUTH, OPENID, `${OAUTH}/1`]) expect((await app.inject(url)).statusCode).toBe(404)
})
