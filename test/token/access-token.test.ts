import fc from 'fast-check'
import {
  calculateJwkThumbprint,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  SignJWT,
} from 'jose'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { rightsOf } from '#src/customer/rights.ts'
import { addCustomer, PASSWORD, testApp, testAppBeside } from '../support/app/test-app.ts'

const service = await testApp()
const { app, clock, customers, store } = service
const tokens = app.accessTokens

const login = async (email: string, headers = {}): Promise<string> =>
  (await service.login({ Email: email, Password: PASSWORD }, { headers })).json().data.Token

const customer = await addCustomer(service, { regions: ['TR', 'DE'] })
const token = await login(customer.email, { 'h-region-code': 'de' })
const claims = decodeJwt(token)
const header = decodeProtectedHeader(token)
const [stored] = await store.signingKeys.list()
const privateJwk = JSON.parse(stored?.privateJwk ?? '')
const signingKey = await crypto.subtle.importKey('jwk', privateJwk, { name: 'ECDSA', namedCurve: 'P-256' }, true, [
  'sign',
])

interface Forgery {
  readonly header?: Record<string, unknown>
  readonly claims?: Record<string, unknown>
  readonly without?: string
}

/** A token signed with the right key, but for what is wrong on purpose. */
const forge = ({ header: wrongHeader = {}, claims: wrongClaims = {}, without = '' }: Forgery): Promise<string> => {
  const payload: Record<string, unknown> = { ...claims, ...wrongClaims }
  delete payload[without]
  return new SignJWT(payload)
    .setProtectedHeader({ alg: 'ES256', ...header, ...wrongHeader })
    .sign(signingKey, { crit: { made: true } })
}

const issuedAt = clock.time
beforeEach(() => {
  clock.time = issuedAt
})

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const refusalOf = (text: string): Promise<string> =>
  tokens.verify(text, '127.0.0.1').then(
    () => 'accepted',
    (error: { code: string }) => error.code,
  )

describe('a token', () => {
  it('names the customer, the region and the scope, and nothing personal', () => {
    const now = Math.floor(clock.now() / 1000)
    expect(header).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: stored?.kid })
    expect(claims).toEqual({
      iss: 'teslim',
      aud: 'teslim',
      sub: customer.id,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      iat: now,
      exp: now + 3600,
      region: 'DE',
      scope: 'customer',
      client_id: customer.id,
      gen: expect.stringMatching(/^[0-9A-Za-z]{22}$/),
    })
  })

  it('verifies as its customer', async () => {
    expect(await tokens.verify(token, '127.0.0.1')).toMatchObject({
      customer: { id: customer.id },
      region: 'DE',
      scope: 'customer',
    })
    expect(await refusalOf(await forge({}))).toBe('accepted')
  })

  it('of an operator says so', async () => {
    const operator = await addCustomer(service, { scope: 'operator' })
    expect(decodeJwt(await login(operator.email))).toMatchObject({ scope: 'operator' })
  })

  it('has its signature verified once; a changed one every time', async () => {
    const { email } = await addCustomer(service)
    const fresh = await login(email)
    const changed = `${fresh.slice(0, -2)}${fresh.endsWith('AA') ? 'BA' : 'AA'}`
    const verify = vi.spyOn(crypto.subtle, 'verify')
    try {
      expect([await refusalOf(fresh), await refusalOf(fresh), await refusalOf(fresh)]).toEqual(
        Array(3).fill('accepted'),
      )
      expect(verify).toHaveBeenCalledTimes(1)
      expect([await refusalOf(changed), await refusalOf(changed)]).toEqual(Array(2).fill('TOKEN_SIGNATURE'))
      expect(verify).toHaveBeenCalledTimes(3)
    } finally {
      verify.mockRestore()
    }
  })

  it('has the rights of its customer when it was issued, and none that its customer has not by now', async () => {
    const roles = [
      { scope: 'customer', payloads: false },
      { scope: 'feed', payloads: false },
      { scope: 'operator:support', payloads: false },
      { scope: 'operator:support', payloads: true },
      { scope: 'operator:read', payloads: false },
      { scope: 'operator', payloads: false },
    ] as const
    const claimOf = ({ scope, payloads }: (typeof roles)[number]) => (payloads ? `${scope} payloads` : scope)
    for (const role of roles) {
      const one = await addCustomer(service, role)
      const text = await login(one.email)
      expect(decodeJwt(text).scope).toBe(claimOf(role))
      for (const now of roles) {
        // Past the rule, which would end the token.
        await service.store.customers.change(one.id, now)
        const { rights, seesAll, scope } = await tokens.verify(text, '127.0.0.1')
        expect(rights).toEqual(rightsOf(role).intersection(rightsOf(now)))
        expect(seesAll).toBe(role.scope !== 'customer' && now.scope !== 'customer')
        expect(scope).toBe(rightsOf(role).isSubsetOf(rightsOf(now)) ? role.scope : now.scope)
      }
    }
  })

  it('ends when its customer loses a right, and gets none that its customer gets later', async () => {
    const { id, email } = await addCustomer(service, { scope: 'operator' })
    const steps = [
      [{ scope: 'operator:read' }, 'TOKEN_REVOKED'],
      [{ scope: 'operator' }, 'accepted'],
      [{ scope: 'operator:support', payloads: true }, 'TOKEN_REVOKED'],
      [{ payloads: false }, 'TOKEN_REVOKED'],
      [{ payloads: true }, 'accepted'],
      [{ scope: 'operator:read' }, 'accepted'],
      [{ scope: 'feed' }, 'TOKEN_REVOKED'],
      [{ scope: 'customer' }, 'TOKEN_REVOKED'],
      [{ scope: 'operator:read' }, 'accepted'],
    ] as const
    for (const [change, ending] of steps) {
      const text = await login(email)
      const before = await tokens.verify(text, '127.0.0.1')
      await service.customers.set(id, change)
      expect([change, await refusalOf(text)]).toEqual([change, ending])
      if (ending === 'accepted') expect((await tokens.verify(text, '127.0.0.1')).rights).toEqual(before.rights)
    }
  })

  it('is signed with a key whose kid is its RFC 7638 thumbprint', async () => {
    expect(stored?.kid).toBe(await calculateJwkThumbprint(privateJwk))
  })
})

describe('a token is refused', () => {
  it('when it has no signature', async () => {
    expect(await refusalOf(`${encode({ ...header, alg: 'none' })}.${encode(claims)}.`)).toBe('TOKEN_ALGORITHM')
    expect(await refusalOf(`${encode(header)}.${encode(claims)}.`)).toBe('TOKEN_SIGNATURE')
  })

  it('when it is signed HS256 with the public key as the secret', async () => {
    const key = await crypto.subtle.importKey(
      'jwk',
      { ...privateJwk, d: undefined, key_ops: ['verify'] },
      { name: 'ECDSA', namedCurve: 'P-256' },
      true,
      ['verify'],
    )
    const secret = new TextEncoder().encode(await exportSPKI(key))
    const forged = await new SignJWT(claims).setProtectedHeader({ ...header, alg: 'HS256' }).sign(secret)
    expect(await refusalOf(forged)).toBe('TOKEN_ALGORITHM')
  })

  it('when it names another algorithm than its key has', async () => {
    expect(await refusalOf(`${encode({ ...header, alg: 'EdDSA' })}.${token.split('.').slice(1).join('.')}`)).toBe(
      'TOKEN_ALGORITHM',
    )
  })

  it.each(['unknown', '', '__proto__', '../key', undefined, 7])('when its kid is %j', async (kid) => {
    const [, payload, signature] = token.split('.')
    expect(await refusalOf(`${encode({ ...header, kid })}.${payload}.${signature}`)).toBe('TOKEN_KEY_UNKNOWN')
  })

  it('when it brings a key of its own, by value or by address', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const jwk = await exportJWK(publicKey)
    const own = { ...header, alg: 'ES256', jwk, jku: 'http://127.0.0.1:9/jwks', x5u: 'http://127.0.0.1:9/x5u' }
    const forged = (kid: string) => new SignJWT(claims).setProtectedHeader({ ...own, kid }).sign(privateKey)
    expect(await refusalOf(await forged(String(stored?.kid)))).toBe('TOKEN_SIGNATURE')
    expect(await refusalOf(await forged(await calculateJwkThumbprint(jwk)))).toBe('TOKEN_KEY_UNKNOWN')
  })

  it('when its payload was changed', async () => {
    const [head, , signature] = token.split('.')
    expect(await refusalOf(`${head}.${encode({ ...claims, scope: 'operator' })}.${signature}`)).toBe('TOKEN_SIGNATURE')
  })

  const now = Math.floor(clock.now() / 1000)
  it.each<[string, Forgery, string]>([
    ['has expired', { claims: { exp: now } }, 'TOKEN_EXPIRED'],
    ['is not valid yet', { claims: { nbf: now + 61 } }, 'TOKEN_NOT_YET_VALID'],
    ['names the unknown scope "operator:write"', { claims: { scope: 'operator:write' } }, 'TOKEN_CLAIMS'],
    [
      'names the unknown scope "operator:support  payloads"',
      { claims: { scope: 'operator:support  payloads' } },
      'TOKEN_CLAIMS',
    ],
    ['names the unknown scope "operator payloads"', { claims: { scope: 'operator payloads' } }, 'TOKEN_CLAIMS'],
    ['names the unknown scope "toString"', { claims: { scope: 'toString' } }, 'TOKEN_CLAIMS'],
    ['is from another issuer', { claims: { iss: 'somebody' } }, 'TOKEN_ISSUER'],
    ['is for another audience', { claims: { aud: 'something' } }, 'TOKEN_AUDIENCE'],
    ['asks for an extension', { header: { crit: ['made'], made: 1 } }, 'TOKEN_MALFORMED'],
    ['is of another type', { header: { typ: 'JWT' } }, 'TOKEN_MALFORMED'],
    ['has no exp', { without: 'exp' }, 'TOKEN_CLAIMS'],
    ['has no iat', { without: 'iat' }, 'TOKEN_CLAIMS'],
    ['has no sub', { without: 'sub' }, 'TOKEN_CLAIMS'],
    ['has no jti', { without: 'jti' }, 'TOKEN_CLAIMS'],
    ['has no issuer', { without: 'iss' }, 'TOKEN_ISSUER'],
    ['has no audience', { without: 'aud' }, 'TOKEN_AUDIENCE'],
    ['has no region', { without: 'region' }, 'TOKEN_CLAIMS'],
    ['has a scope nobody gave', { claims: { scope: 'root' } }, 'TOKEN_CLAIMS'],
    ['has no generation', { without: 'gen' }, 'TOKEN_CLAIMS'],
    ['has a generation that is no text', { claims: { gen: 1 } }, 'TOKEN_CLAIMS'],
    ['has another generation', { claims: { gen: '' } }, 'TOKEN_REVOKED'],
    ['has no client', { without: 'client_id' }, 'TOKEN_CLAIMS'],
    ['has a client that is not its customer', { claims: { client_id: 'somebody' } }, 'TOKEN_CLAIMS'],
    ['is of nobody', { claims: { sub: 'nobody', client_id: 'nobody' } }, 'TOKEN_REVOKED'],
  ])('when it %s', async (_name, forgery, code) => {
    expect(await refusalOf(await forge(forgery))).toBe(code)
  })

  it.each([
    ['empty', () => ''],
    ['of two parts', () => token.split('.').slice(1).join('.')],
    ['of four parts', () => `${token}.x`],
    ['padded', () => `${token}=`],
    ['with white space', () => token.replace('.', '. ')],
    [
      'with another spelling of its signature',
      () => token.replace(/.$/, (last) => BASE64URL[BASE64URL.indexOf(last) + 1] ?? ''),
    ],
    ['followed by a line break', () => `${token}\n`],
    ['not base64url', () => token.replace(/.$/, '+')],
    ['of a header that is not JSON', () => `x${token}`],
    ['of a header that is no object', () => `${encode([])}.${encode({})}.x`],
  ])('when it is %s', async (_name, make) => {
    expect(await refusalOf(make())).toBe('TOKEN_MALFORMED')
  })

  it('when any one character of any part is changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom(...BASE64URL), async (index, character) => {
        fc.pre(token[index] !== '.' && token[index] !== character)
        const changed = token.slice(0, index) + character + token.slice(index + 1)
        expect(await refusalOf(changed)).toMatch(/^TOKEN_/)
      }),
      { numRuns: 300 },
    )
    // The last characters of the parts, where bits are left over: all of them.
    for (const end of [token.indexOf('.'), token.lastIndexOf('.'), token.length]) {
      for (const character of BASE64URL.replace(token[end - 1] ?? '', '')) {
        const changed = token.slice(0, end - 1) + character + token.slice(end)
        expect(await refusalOf(changed), changed).toMatch(/^TOKEN_/)
      }
    }
  })

  it('when it has expired, to the second', async () => {
    const { email } = await addCustomer(service)
    const fresh = await login(email)
    const { exp = 0 } = decodeJwt(fresh)
    clock.time = exp * 1000 - 1
    expect(await refusalOf(fresh)).toBe('accepted')
    clock.time = exp * 1000
    expect(await refusalOf(fresh)).toBe('TOKEN_EXPIRED')
  })

  it('when its customer was disabled, also after it is enabled again', async () => {
    const { email, id } = await addCustomer(service)
    const before = await login(email)
    await customers.disable(id)
    expect(await refusalOf(before)).toBe('TOKEN_REVOKED')
    await customers.enable(id)
    expect(await refusalOf(before)).toBe('TOKEN_REVOKED')
    const after = await login(email)
    expect(await refusalOf(after)).toBe('accepted')
  })

  it('when its customer is disabled or no API customer any more, even if the generation stayed', async () => {
    for (const scope of ['customer', 'operator'] as const) {
      const { email, id } = await addCustomer(service, { scope })
      const before = await login(email)
      const { tokenGeneration = '' } = (await store.customers.findById(id)) ?? {}
      await store.customers.disable(id, { reason: '', tokenGeneration })
      expect(await refusalOf(before)).toBe('TOKEN_REVOKED')
      await store.customers.enable(id)
      expect(await refusalOf(before)).toBe('accepted')
      await store.customers.change(id, { isApi: false })
      expect(await refusalOf(before)).toBe('TOKEN_REVOKED')
    }
  })

  it('when it was issued between two revocations of one moment, by whatever clock', async () => {
    const { email, id } = await addCustomer(service)
    for (const ahead of [0, 5000, 3_600_000, -1_800_000]) {
      clock.time = issuedAt
      await customers.revokeTokens(id)
      clock.time += ahead
      const between = await login(email)
      expect(await refusalOf(between)).toBe('accepted')
      clock.time = issuedAt
      await customers.revokeTokens(id)
      expect(await refusalOf(between)).toBe('TOKEN_REVOKED')
      expect(await refusalOf(await login(email))).toBe('accepted')
    }
  })
})

describe('the key set', () => {
  it('holds public keys only', async () => {
    const { statusCode, headers, payload } = await app.inject('/.well-known/jwks.json')
    expect(statusCode).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'public, max-age=60',
    })
    const { kty, crv, x, y } = privateJwk
    expect(JSON.parse(payload)).toEqual({ keys: [{ kty, crv, x, y, kid: stored?.kid, alg: 'ES256', use: 'sig' }] })
    expect(payload).not.toContain(privateJwk.d)
  })

  it('is there before the first login', async () => {
    const fresh = await testApp()
    expect((await fresh.app.inject('/.well-known/jwks.json')).json().keys).toHaveLength(1)
  })

  it('has one key, however many logins come first at once', async () => {
    const fresh = await testApp({}, { withThreads: true })
    const { email } = await addCustomer(fresh)
    await Promise.all([1, 2, 3, 4].map(() => fresh.login({ Email: email, Password: PASSWORD })))
    expect((await fresh.app.inject('/.well-known/jwks.json')).json().keys).toHaveLength(1)
  })

  it('gets a second key when the setting changes to EdDSA, and each process verifies what another one signed', async () => {
    const first = await testApp()
    const { email } = await addCustomer(first)
    const tokenOf = async (from: typeof first) =>
      (await from.login({ Email: email, Password: PASSWORD })).json().data.Token
    const es256 = await tokenOf(first)
    const second = await testAppBeside(first, { TESLIM_TOKEN_ALGORITHM: 'EdDSA' })
    const eddsa = await tokenOf(second)
    expect([es256, eddsa].map((token) => decodeProtectedHeader(token).alg)).toEqual(['ES256', 'EdDSA'])
    for (const { app } of [first, second]) {
      for (const token of [es256, eddsa])
        expect(await app.accessTokens.verify(token, '127.0.0.1')).toMatchObject({ scope: 'customer' })
      const { keys } = (await app.inject('/.well-known/jwks.json')).json()
      expect(keys.map(({ alg }: { alg: string }) => alg).toSorted()).toEqual(['ES256', 'EdDSA'])
    }
  })
})
