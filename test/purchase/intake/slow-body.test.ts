import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { addSupplier } from '../../support/app/supplier.ts'
import { PASSWORD, type TestApp, testApp } from '../../support/app/test-app.ts'
import { storesOfRun } from '../../support/store/stores.ts'

type Supplier = Awaited<ReturnType<typeof addSupplier>>

const ORDER = '{"OrderID":"slow","Status":1}'

/** What is done to a supplier while its body arrives, and how its delivery is refused. */
const ENDINGS: [
  name: string,
  change: (supplier: Supplier, service: TestApp) => Promise<unknown>,
  status: number,
  code: string,
][] = [
  ['its key is revoked', ({ apiKeys, keyId }) => apiKeys.revoke(keyId), 401, 'API_KEY_INVALID'],
  [
    'its key expires',
    async ({ apiKeys, keyId }, { clock }) => {
      await apiKeys.set(keyId, { lifetimeMilliseconds: 1000 })
      clock.time += 1000
    },
    401,
    'API_KEY_INVALID',
  ],
  [
    'its key may be used from elsewhere only',
    ({ apiKeys, keyId }) => apiKeys.set(keyId, { networks: ['203.0.113.0/24'] }),
    401,
    'API_KEY_INVALID',
  ],
  ['its customer is disabled', ({ customer }, { customers }) => customers.disable(customer.id), 401, 'API_KEY_INVALID'],
  [
    'its customer is removed',
    ({ customer }, { customers }) => customers.remove(customer.id, false),
    401,
    'API_KEY_INVALID',
  ],
  [
    'its rule is taken away',
    ({ customer }, { customers }) => customers.disallow(customer.id, ['*']),
    403,
    'PRODUCT_NOT_AUTHORIZED',
  ],
  [
    'the token beside its key is revoked',
    ({ customer }, { customers }) => customers.revokeTokens(customer.id),
    401,
    'TOKEN_REVOKED',
  ],
]

describe.each(storesOfRun())('a body that takes more than half a second, on %s,', async (_kind, emptyStore) => {
  const service = await testApp(await emptyStore(), { withThreads: true })
  const { app, clock, store } = service
  await app.listen({ port: 0 })

  const start = async () => {
    const supplier = await addSupplier(service)
    const { Token } = (await service.login({ Email: supplier.customer.email, Password: PASSWORD })).json().data
    const headers = { ApiKey: supplier.key, authorization: `Bearer ${Token}` }
    const quick = () =>
      app.inject({ method: 'POST', url: '/Purchase/update', headers, payload: '{"OrderID":"quick","Status":0}' })
    /** Sends the headers and waits until the server has accepted the key. */
    const open = async (query = '') => {
      const { port } = app.server.address() as { port: number }
      const request = httpRequest({
        port,
        method: 'POST',
        path: `/Purchase/update${query}`,
        agent: false,
        headers: { ...headers, expect: '100-continue' },
      })
      request.flushHeaders()
      await once(request, 'continue')
      request.write(ORDER.slice(0, 9))
      return async () => {
        request.end(ORDER.slice(9))
        const [response] = (await once(request, 'response')) as [IncomingMessage]
        const { errorCode, data } = (await json(response)) as { errorCode?: string; data: unknown }
        return { status: response.statusCode, errorCode, data }
      }
    }
    return { ...supplier, supplier, quick, open }
  }

  it.each(ENDINGS)('delivers nothing if %s meanwhile', async (_name, change, status, code) => {
    for (const query of ['', '?validateOnly=true']) {
      const { supplier, open, quick, customer } = await start()
      const finish = await open(query)
      clock.time += 501
      // Whatever is cached is fresh.
      expect((await quick()).statusCode).toBe(200)
      await change(supplier, service)
      expect(await finish()).toEqual({ status, errorCode: code, data: null })
      expect(await store.deliveries.history(customer.id, 'slow')).toEqual([])
      const line = service.log.findLast(({ route }) => route === '/Purchase/update')
      expect(line).toMatchObject({ status, errorCode: code, customerId: customer.id })
    }
  })

  it('delivers if the key is still valid, also if something else was changed', async () => {
    const { open, customer } = await start()
    const finish = await open()
    clock.time += 10_000
    await service.customers.set(customer.id, { regions: ['TR', 'DE'] })
    expect(await finish()).toMatchObject({ status: 200, data: { OrderID: 'slow' } })
  })
})
