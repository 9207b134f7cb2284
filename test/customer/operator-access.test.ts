import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { failure } from '../support/app/failure.ts'
import { operating } from '../support/app/operating.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { addCustomer, testApp, testAppBeside } from '../support/app/test-app.ts'
import { published } from '../support/docs/contract.ts'
import { webhook } from '../support/store/store-rows.ts'

const routes = Object.entries(published.paths)
  .filter(([path]) => path.startsWith('/Operator/') || path.startsWith('/Webhook/'))
  .flatMap(([path, methods]) => Object.keys(methods).map((method) => ({ path, method: method.toUpperCase() })))

const REFUSED = 'operator.refused'
const FOR_SUPPORT = /^\/Operator\/(customer|find|live)/

/** Bodies that would be right for one route or another. */
const BODIES = [
  { Email: 'intruder@example.com', IsAPI: true, IsOperator: true },
  { Rules: ['*'] },
  { Label: 'intruder' },
  { OverlapHours: 0 },
  { URL: 'https://intruder.example/' },
  { SetAside: true },
  {},
]

/** A search is sent in a body, so that what was typed stands in no address. */
const isChange = ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
  method !== 'GET' && path !== '/Operator/find'

it('every route of operators is in the contract, with its tag, a token, and the refusals of its scope', () => {
  expect(routes.length).toBeGreaterThanOrEqual(21)
  for (const { path, method } of routes) {
    const operation = published.paths[path]?.[method.toLowerCase()]
    const refused = Object.keys(operation?.responses[403]?.content?.['application/json']?.examples ?? {})
    const [, tag] = path.split('/')
    expect([path, operation?.tags, operation?.security]).toEqual([path, [tag], [{ bearer: [] }]])
    const more = isChange({ method, path })
      ? ['OPERATOR_READ_ONLY']
      : FOR_SUPPORT.test(path)
        ? []
        : ['OPERATOR_FOR_SUPPORT']
    const own = refused.filter((code) => code !== 'REAUTHENTICATION_REQUIRED')
    expect(own).toEqual(['OPERATOR_REQUIRED', ...more])
  }
})

describe('nobody else', async () => {
  // Some tests move the clock by minutes again and again.
  const service = await testApp({ TESLIM_TOKEN_TTL: '43200' })
  const { app, clock, customers, store } = service
  const target = await addSupplier(service)
  const endpoint = webhook()
  await store.webhooks.add(endpoint)
  await store.webhooks.pauseAll('operator', 1)
  const full = await operating(service)
  const reader = await operating(service, { scope: 'operator:read' })
  const support = await operating(service, { scope: 'operator:support', payloads: true })
  const follower = await operating(service, { scope: 'feed' })
  const customer = await operating(service, { scope: 'customer' })
  const former = await operating(service)
  await customers.set(former.operator.id, { scope: 'customer' })
  const demoted = await operating(service)
  await store.customers.change(demoted.operator.id, { scope: 'operator:read' })
  const promoted = await operating(service, { scope: 'customer' })
  await store.customers.change(promoted.operator.id, { scope: 'operator' })
  const disabled = await operating(service)
  await customers.disable(disabled.operator.id)
  const revoked = await operating(service)
  await customers.revokeTokens(revoked.operator.id)
  const foreign = await operating(await testApp())
  clock.time += 1000
  const late = full.token
  const forged = `${late.slice(0, late.lastIndexOf('.') + 1)}${'A'.repeat(86)}`

  const kept = async () =>
    JSON.stringify([
      await store.customers.list({ limit: 1000 }),
      await store.apiKeys.list(),
      (await store.audit.list({ limit: 1000 })).filter(({ action }) => action !== REFUSED),
      await store.webhooks.list(),
      await store.webhooks.attempts(endpoint.id, 10),
    ])

  const callers = [
    ['no token', {}, 401],
    ['an API key', { ApiKey: target.key }, 401],
    ['an API key as token', { authorization: `Bearer ${target.key}` }, 401],
    ['the token in another scheme', { authorization: `Basic ${late}` }, 401],
    ['the token of another service', { authorization: `Bearer ${foreign.token}` }, 401],
    ['a forged token', { authorization: `Bearer ${forged}` }, 401],
    ['the token of a disabled operator', { authorization: `Bearer ${disabled.token}` }, 401],
    ['a revoked token', { authorization: `Bearer ${revoked.token}` }, 401],
    ['the token of a former operator', { authorization: `Bearer ${former.token}` }, 401],
    ['the token of a customer', { authorization: `Bearer ${customer.token}` }, 403],
    ['the token of a follower of the feed', { authorization: `Bearer ${follower.token}` }, 403],
    ['the token of a customer that was no operator then', { authorization: `Bearer ${promoted.token}` }, 403],
  ] as const

  const addresses = fc
    .tuple(
      fc.constantFrom(...routes),
      fc.constantFrom(target.customer.id, target.customer.email, full.operator.id, 'x'),
      fc.constantFrom(target.keyId, 'x'),
      fc.constantFrom('', '?limit=1', '?search=@', `?ids=${target.customer.id}`),
      fc.boolean(),
    )
    .map(([route, customerId, keyId, query, lower]) => {
      const path = route.path
        .replace('{customerId}', customerId)
        .replace('{keyId}', keyId)
        .replace('{endpointId}', endpoint.id)
      return { method: route.method, url: (lower ? path.toLowerCase() : path) + query }
    })
  const request = fc.tuple(addresses, fc.constantFrom(...BODIES))

  it('sees or changes anything, whatever it sends', async () => {
    const before = await kept()
    await fc.assert(
      fc.asyncProperty(request, fc.constantFrom(...callers), async ([{ method, url }, body], [, headers, status]) => {
        const answer = await app.inject({
          method: method as 'GET',
          url,
          headers: { 'content-type': 'application/json', ...headers },
          ...(method !== 'GET' && { payload: body }),
        })
        expect(answer.statusCode).toBe(status)
        expect(answer.json()).toEqual(
          failure(status === 403 ? 'OPERATOR_REQUIRED' : expect.stringMatching(/^TOKEN_|^API_KEY_/)),
        )
      }),
      { numRuns: 300 },
    )
    expect(await kept()).toBe(before)
  })

  it('than an operator with all rights changes anything', async () => {
    const before = await kept()
    await fc.assert(
      fc.asyncProperty(
        request.filter(([{ method, url }]) =>
          isChange({ method, path: url.replace(/\?.*/, '').replace('/operator', '/Operator') }),
        ),
        fc.constantFrom(reader.token, demoted.token, support.token),
        async ([{ method, url }, body], token) => {
          const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
          const answer = await app.inject({ method: method as 'POST', url, headers, payload: body })
          expect([answer.statusCode, answer.json()]).toEqual([403, failure('OPERATOR_READ_ONLY')])
        },
      ),
      { numRuns: 200 },
    )
    expect(await kept()).toBe(before)
    expect((await reader.get('/Operator/customers')).statusCode).toBe(200)
  })

  it('tries to change something without a line in the audit log', async () => {
    const tries = async ({ operator, token }: typeof reader, errorCode: string) => {
      for (const { path, method } of routes.filter(isChange)) {
        // The log has a limit a minute for each code.
        clock.time += 60_000
        const url = path.replace(/\{\w+\}/, endpoint.id)
        const headers = { authorization: `Bearer ${token}`, 'x-request-id': 'a-try' }
        const { statusCode } = await app.inject({ method: method as 'POST', url: `${url}?token=hidden`, headers })
        expect(statusCode).toBe(403)
        await app.flushRefusals()
        const [event] = await store.audit.list({ limit: 1, action: REFUSED })
        const details = { errorCode, reason: `${method} ${path.replace(/\{(\w+)\}/, ':$1')}` }
        expect(event).toMatchObject({
          at: clock.now(),
          actor: 'api',
          customerId: operator.id,
          address: '127.0.0.1',
          requestId: 'a-try',
          details,
        })
      }
    }
    await tries(reader, 'OPERATOR_READ_ONLY')
    await tries(support, 'OPERATOR_READ_ONLY')
    await tries(follower, 'OPERATOR_REQUIRED')
    await tries(customer, 'OPERATOR_REQUIRED')
    const count = async () => (await store.audit.list({ limit: 1000, action: REFUSED })).length
    const before = await count()
    // Reading is refused without a line, and so is whoever is not known.
    await customer.get('/Webhook/endpoints')
    await app.inject({ method: 'POST', url: '/Webhook/endpoints' })
    await app.flushRefusals()
    expect(await count()).toBe(before)
  })

  it('changes anything by another method', async () => {
    const before = await kept()
    const authorization = `Bearer ${late}`
    for (const { path, method } of routes) {
      const url = path
        .replace('{customerId}', target.customer.id)
        .replace('{keyId}', target.keyId)
        .replace('{endpointId}', endpoint.id)
      const others = ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'] as const
      for (const other of others.filter((each) => each !== method && !(method === 'GET' && each === 'HEAD'))) {
        if (routes.some((route) => route.path === path && route.method === other)) continue
        const answer = await app.inject({ method: other, url, headers: { authorization } })
        expect([url, other, answer.statusCode]).toEqual([url, other, other === 'HEAD' && hasGet(path) ? 200 : 405])
      }
    }
    expect(await kept()).toBe(before)
  })

  it.each([
    ['disabled', (id: string) => customers.disable(id), 401, 'TOKEN_REVOKED'],
    [
      'made read-only',
      (id: string) => store.customers.change(id, { scope: 'operator:read' }),
      403,
      'OPERATOR_READ_ONLY',
    ],
  ])('acts who is %s before the body has arrived', async (_name, change, status, code) => {
    const { operator, token } = await operating(service)
    if (!app.server.listening) await app.listen({ port: 0 })
    const { port } = app.server.address() as { port: number }
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', expect: '100-continue' }
    const request = httpRequest({ port, method: 'POST', path: '/Operator/customers', agent: false, headers })
    request.flushHeaders()
    // The server asks for the body once it has checked the token.
    await once(request, 'continue')
    await change(operator.id)
    request.end('{"Email":"intruder@example.com","IsOperator":true}')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect([response.statusCode, await json(response)]).toEqual([status, failure(code)])
    expect(await store.customers.findByEmail('intruder@example.com')).toBeUndefined()
  })

  it('acts with a token that has expired', async () => {
    const { id } = await addCustomer(service)
    const { token } = await operating(service)
    const before = await kept()
    const later = await testAppBeside(service)
    later.clock.time = clock.time + 86_400_000
    const headers = { authorization: `Bearer ${token}` }
    for (const answer of [
      await later.app.inject({ url: '/Operator/customers', headers }),
      await later.app.inject({ method: 'POST', url: `/Operator/customer/${id}/disable`, headers }),
    ])
      expect([answer.statusCode, answer.json()]).toEqual([401, failure('TOKEN_EXPIRED')])
    expect(await kept()).toBe(before)
  })
})

const hasGet = (path: string): boolean => routes.some((route) => route.path === path && route.method === 'GET')
