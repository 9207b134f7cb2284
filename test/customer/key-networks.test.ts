import type { InjectOptions } from 'fastify'
import { describe, expect, it } from 'vitest'
import { message } from '#src/lib/messages/message.ts'
import { failure } from '../support/app/failure.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { type TestApp, testApp, testAppBeside } from '../support/app/test-app.ts'
import { published } from '../support/docs/contract.ts'

const REFUSED = failure('API_KEY_INVALID')
const deliver = async ({ app }: TestApp, ApiKey: string, remoteAddress: string, headers = {}) => {
  const payload = '{"Status":1,"OrderID":"1"}'
  const answer = await app.inject({
    method: 'POST',
    url: '/Purchase/update',
    headers: { ApiKey, ...headers },
    remoteAddress,
    payload,
  })
  if (answer.statusCode !== 200) expect(answer.json()).toEqual(REFUSED)
  return answer.statusCode
}

/** Every operation that an API key opens, as a request with examples for its parameters. */
const suppliersOperations = Object.entries(published.paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([, { security }]) => security?.some((scheme) => 'ApiKey' in scheme))
    .map(([method, { parameters = [] }]): InjectOptions => {
      const examples = new Map(parameters.map(({ name, example }) => [name, String(example)]))
      const url = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(examples.get(name) ?? 'x'))
      return { method: method.toUpperCase() as 'GET', url, ...(method === 'post' && { payload: '{"Status":1}' }) }
    }),
)

describe('a key that is limited to networks', async () => {
  const service = await testApp()
  const { store, clock } = service
  const { customer, apiKeys } = await addSupplier(service)
  const issue = (...networks: string[]) => apiKeys.issue(customer.id, 'limited', undefined, { networks })

  it('works from there, in every spelling of the address, and from nowhere else', async () => {
    const { key, view } = await issue('203.0.113.0/24', '::ffff:198.51.100.7', '2001:DB8::/32')
    expect(view.networks).toEqual(['198.51.100.7', '203.0.113.0/24', '2001:db8::/32'])
    const inside = ['203.0.113.0', '203.0.113.255', '::ffff:203.0.113.9', '::ffff:cb00:7109', '198.51.100.7']
    const inside6 = ['2001:db8::1', '2001:0DB8:FFFF:0:0:0:0:1', '2001:db8::1%eth0']
    const outside = ['203.0.112.255', '203.0.114.0', '::ffff:198.51.100.8', '198.51.100.6', '127.0.0.1', '::1']
    // Twice: the second time the key is known.
    for (const address of [...inside, ...inside6, ...inside]) expect(await deliver(service, key, address)).toBe(200)
    for (const address of [...outside, '2001:db9::1', 'unknown', ...outside])
      expect(await deliver(service, key, address), address).toBe(401)
    expect(await deliver(service, key, '203.0.113.1')).toBe(200)
  })

  it('is refused elsewhere as an unknown key is, and only the audit log says why', async () => {
    const { key, view } = await issue('203.0.113.0/24')
    const { app } = service
    const send = (ApiKey: string) =>
      app.inject({
        method: 'POST',
        url: '/Purchase/update',
        headers: { ApiKey, 'x-request-id': 'same' },
        remoteAddress: '198.51.100.1',
        payload: '{"Status":1}',
      })
    const [limited, unknown] = [await send(key), await send('tsl_unknown')]
    expect(limited.payload).toBe(unknown.payload)
    expect([limited.statusCode, limited.headers]).toEqual([unknown.statusCode, unknown.headers])
    await app.flushRefusals()
    const [event] = (await store.audit.list({ customerId: customer.id, limit: 1 })).slice(-1)
    expect(event).toMatchObject({
      action: 'delivery.refused',
      address: '198.51.100.1',
      details: {
        errorCode: 'API_KEY_INVALID',
        reason: message('KEY_OF_OTHER_NETWORK', { key: view.id, address: '198.51.100.1' }),
      },
    })
    await app.keyUses.flush()
    expect((await apiKeys.list(customer.id)).find(({ id }) => id === view.id)?.lastUse).toBeNull()
  })

  it('opens no route for suppliers from elsewhere', async () => {
    const { key } = await issue('203.0.113.0/24')
    expect(suppliersOperations.length).toBeGreaterThan(0)
    for (const operation of suppliersOperations) {
      const send = async (remoteAddress: string) =>
        (await service.app.inject({ ...operation, headers: { ApiKey: key }, remoteAddress })).statusCode
      expect([await send('198.51.100.1'), await send('::1')], String(operation.url)).toEqual([401, 401])
      expect(await send('203.0.113.1'), String(operation.url)).not.toBe(401)
    }
  })

  it('is judged by the address that a trusted proxy names, and by no other one', async () => {
    const { key } = await issue('203.0.113.0/24', '2001:db8::/32')
    const behind = await testAppBeside(service, { TESLIM_TRUST_PROXY: 'loopback' })
    const forwarded = (address: string) => ({ 'x-forwarded-for': address })
    for (const address of ['203.0.113.7', '203.0.113.7:4711', '[2001:db8::7]:4711', '::ffff:203.0.113.7'])
      expect(await deliver(behind, key, '127.0.0.1', forwarded(address)), address).toBe(200)
    for (const address of ['198.51.100.1', '203.0.113.7, 198.51.100.1', '', 'nonsense'])
      expect(await deliver(behind, key, '127.0.0.1', forwarded(address)), address).toBe(401)
    expect(await deliver(behind, key, '198.51.100.1', forwarded('203.0.113.7'))).toBe(401)
    expect(await deliver(service, key, '127.0.0.1', forwarded('203.0.113.7'))).toBe(401)
  })

  it('is limited, widened and set free in every process within a second', async () => {
    const other = await testAppBeside(service)
    const { key, view } = await apiKeys.issue(customer.id, 'changed')
    const both = async () => {
      clock.time += 500
      other.clock.time = clock.time
      return [await deliver(service, key, '203.0.113.7'), await deliver(other, key, '203.0.113.7')]
    }
    expect(await both()).toEqual([200, 200])
    expect((await apiKeys.set(view.id, { networks: ['198.51.100.0/24'] })).networks).toEqual(['198.51.100.0/24'])
    expect(await both()).toEqual([401, 401])
    await apiKeys.set(view.id, { networks: ['198.51.100.0/24', '203.0.113.7'] })
    expect(await both()).toEqual([200, 200])
    await apiKeys.set(view.id, { networks: ['::1'] })
    expect(await both()).toEqual([401, 401])
    expect((await apiKeys.set(view.id, { networks: null })).networks).toBeNull()
    expect(await both()).toEqual([200, 200])
  })

  it('passes networks and rate on to its successor', async () => {
    const { view } = await apiKeys.issue(customer.id, 'old', undefined, { networks: ['::1'], rateLimit: 7 })
    const { key, view: next } = await apiKeys.rotate(view.id, { overlapMilliseconds: 0 })
    expect(next).toMatchObject({ label: 'old', networks: ['::1'], rateLimit: 7 })
    expect([await deliver(service, key, '::1'), await deliver(service, key, '::2')]).toEqual([200, 401])
  })

  it('is not issued or changed with a wrong network', async () => {
    const { view } = await issue('::1')
    const before = await apiKeys.list()
    const wrong = { code: 'NETWORK_INVALID' }
    for (const networks of [[], ['10.0.0.1/8'], ['::1', 'host'], ['']]) {
      await expect(apiKeys.issue(customer.id, '', undefined, { networks })).rejects.toMatchObject(wrong)
      await expect(apiKeys.set(view.id, { networks })).rejects.toMatchObject(wrong)
    }
    expect(await apiKeys.list()).toEqual(before)
  })

  it('is changed unless it was revoked, also when it has expired', async () => {
    const { key, view } = await apiKeys.issue(customer.id, 'late', 1000)
    clock.time += 1000
    expect(await deliver(service, key, '::1')).toBe(401)
    const later = await apiKeys.set(view.id, { lifetimeMilliseconds: 60_000, label: 'longer' })
    expect(later).toMatchObject({ state: 'live', expiresAt: clock.now() + 60_000, label: 'longer' })
    clock.time += 500
    expect(await deliver(service, key, '::1')).toBe(200)
    expect(await apiKeys.set(view.id, { lifetimeMilliseconds: null })).toMatchObject({ expiresAt: null })
    await expect(apiKeys.set(view.id, { label: 'a\nb' })).rejects.toMatchObject({ code: 'LABEL_INVALID' })
    await apiKeys.revoke(view.id)
    await expect(apiKeys.set(view.id, { lifetimeMilliseconds: null })).rejects.toMatchObject({
      code: 'API_KEY_ENDED',
      message: `API key ${view.id} is revoked and cannot be changed: issue a new one.`,
    })
    await expect(apiKeys.set('none', { label: '' })).rejects.toMatchObject({ code: 'API_KEY_NOT_FOUND' })
  })
})
