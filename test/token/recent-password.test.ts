import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { NEEDING_PASSWORD } from '#src/token/recent-password.ts'
import { readingSupplier } from '../support/app/supplier.ts'
import { addCustomer, PASSWORD, testApp } from '../support/app/test-app.ts'
import { published } from '../support/docs/contract.ts'

const MINUTE = 60_000
const OWN = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:80', 'content-type': 'application/json' }
const CODE = 'REAUTHENTICATION_REQUIRED'

/** What somebody sends, by the route: in order, so that what is removed or erased comes last. */
type Requests = readonly (readonly [route: string, id: string, body: object])[]

describe('a session whose password was entered more than 15 minutes ago', async () => {
  const service = await testApp({ TESLIM_WEBHOOK_ALLOW: '192.0.2.0/24' })
  const { app, clock, store } = service
  const operator = await addCustomer(service, { scope: 'operator' })
  const supplier = await readingSupplier(service)
  const { id: customer } = supplier.customer
  const { ReceiptID } = await supplier.deliver({ OrderID: 'PO-1', Status: 1, ProductID: 'A' })
  await supplier.deliver({ OrderID: 'PO-2', Status: 1, ProductID: 'A' })

  const session = async (url: string, payload: object, cookie = '') => {
    const headers = { ...OWN, ...(cookie && { cookie }) }
    const answer = await app.inject({ method: 'POST', url: `/console/session${url}`, payload, headers })
    const [set = ''] = [answer.headers['set-cookie'] ?? cookie].flat()
    return { token: answer.json().data.Session.Token as string, cookie: set.split(';')[0] }
  }
  const signIn = () => session('', { Email: operator.email, Password: PASSWORD })
  const send = async (token: string, [route, id, payload]: Requests[number]) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await app.inject({ method: 'POST', url: route.replace(/:\w+/, id), payload, headers })
    return answer.json()
  }
  const codeOf = async (token: string, request: Requests[number]): Promise<string> =>
    (await send(token, request)).errorCode ?? 'done'

  const fresh = (await signIn()).token
  const { data: added } = await send(fresh, ['/Webhook/endpoints', '', { URL: 'https://192.0.2.1/', Statuses: [1] }])
  const endpoint = added.Endpoint.EndpointID as string
  const disabled: string[] = []
  for (const scope of ['feed', 'operator:support', 'operator:read', 'operator'] as const) {
    const { id } = await addCustomer(service, { scope })
    await service.customers.disable(id)
    disabled.push(id)
  }
  const ordinary = (await addCustomer(service)).id
  await service.customers.disable(ordinary)

  const ADD = '/Operator/customers'
  const ENABLE = '/Operator/customer/:customerId/enable'
  const ALLOW = '/Operator/customer/:customerId/allow'
  const ERASE = '/Operator/delivery/:receiptId/erase'
  const ERASE_ORDER = '/Operator/order/:orderId/erase'
  const SET = '/Webhook/endpoint/:endpointId/set'
  const REPLAY = '/Webhook/endpoint/:endpointId/replay'
  const someone = (name: string) => ({ Email: `${name}@example.com`, IsAPI: true })
  const asked: Requests = [
    [ADD, '', { ...someone('one'), Scope: 'operator' }],
    [ADD, '', { ...someone('two'), Scope: 'operator:support' }],
    [ADD, '', { ...someone('three'), IsOperator: true }],
    [ADD, '', { ...someone('four'), Scope: 'feed' }],
    ...disabled.map((id) => [ENABLE, id, {}] as const),
    [ALLOW, customer, { Rules: ['B', '*'] }],
    [ALLOW, customer, { Rules: ['B*'] }],
    ['/Operator/customer/:customerId/keys', customer, { Label: 'new' }],
    ['/Operator/key/:keyId/rotate', supplier.keyId, { OverlapHours: 1 }],
    ['/Webhook/endpoints', '', { URL: 'https://192.0.2.2/' }],
    [SET, endpoint, { URL: 'https://192.0.2.3/' }],
    [SET, endpoint, { CA: null }],
    [SET, endpoint, { Headers: { 'X-Tenant': '7' } }],
    [SET, endpoint, { Statuses: null }],
    [SET, endpoint, { Statuses: [1, 2] }],
    [SET, endpoint, { Customer: customer }],
    [SET, endpoint, { Customer: null }],
    [SET, endpoint, { Duplicates: true }],
    [SET, endpoint, { GiveUpSeconds: 7200, Duplicates: true }],
    ['/Webhook/endpoint/:endpointId/rotateSecret', endpoint, { OverlapHours: 1 }],
    [REPLAY, endpoint, { From: 'start' }],
    [REPLAY, endpoint, { From: '2020-01-01T00:00:00Z' }],
    ['/Webhook/endpoint/:endpointId/remove', endpoint, {}],
    [ERASE, ReceiptID, {}],
    [ERASE, ReceiptID, { DryRun: false }],
    [ERASE_ORDER, 'PO-2', { Customer: customer }],
  ]
  const others: Requests = [
    [ADD, '', someone('five')],
    [ADD, '', { ...someone('six'), Scope: 'customer' }],
    [ENABLE, ordinary, {}],
    [ALLOW, customer, { Rules: ['C', 'D'] }],
    ['/Operator/customer/:customerId/disallow', customer, { Rules: ['*'] }],
    [SET, endpoint, { GiveUpSeconds: 7200 }],
    [REPLAY, endpoint, { From: 'start', OrderID: 'PO-1' }],
    [REPLAY, endpoint, { SetAside: true }],
    [REPLAY, endpoint, { ReceiptID }],
    ['/Webhook/endpoint/:endpointId/pause', endpoint, {}],
    [ERASE, ReceiptID, { DryRun: true }],
    [ERASE_ORDER, 'PO-2', { Customer: customer, DryRun: true }],
  ]
  const kept = async () =>
    JSON.stringify([
      await store.customers.list({ limit: 1000 }),
      await store.apiKeys.list(),
      await store.webhooks.list(),
      await store.audit.list({ limit: 1, action: 'delivery.erase' }),
    ])

  it('is asked for it by each route that is named, in its case only, and nothing is done until then', async () => {
    const { cookie } = await signIn()
    clock.time += 15 * MINUTE
    const inTime = (await session('/token', { Active: true }, cookie)).token
    expect(await codeOf(inTime, [SET, endpoint, { Headers: { 'X-Former': null } }])).not.toBe(CODE)
    clock.time += 1000
    const late = (await session('/token', { Active: true }, cookie)).token
    const before = await kept()
    for (const request of asked) expect([request, await codeOf(late, request)]).toEqual([request, CODE])
    expect(await kept()).toBe(before)
    for (const request of others) expect([request, await codeOf(late, request)]).not.toEqual([request, CODE])
    const login = (await service.login({ Email: operator.email, Password: PASSWORD })).json().data.Token
    for (const request of asked.slice(0, -3))
      expect([request, await codeOf(login, request)]).not.toEqual([request, CODE])
    clock.time += 1000
    const again = (await signIn()).token
    for (const request of asked.slice(-3)) expect([request, await codeOf(again, request)]).toEqual([request, 'done'])
  })

  it('is asked on the routes of one table, which docs/security.md has, and each declares it', () => {
    const named = Object.keys(NEEDING_PASSWORD)
    expect(new Set(asked.map(([route]) => route))).toEqual(new Set(named))
    const page = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8')
    const [, table = ''] = /\n\| in the console \|[^\n]*\n\|---\|---\|\n((?:\|.*\n)+)/.exec(page) ?? []
    const rows = Array.from(table.matchAll(/^\| `POST (\S+)` \| (.+) \|$/gm), ([, route, when]) => [route, when])
    expect(rows).toEqual(Object.entries(NEEDING_PASSWORD))
    const undeclared = named.filter((route) => {
      const operation = published.paths[route.replaceAll(/:(\w+)/g, '{$1}')]?.post
      return !JSON.stringify(operation?.responses[403]).includes(CODE)
    })
    expect(undeclared).toEqual([])
  })
})
