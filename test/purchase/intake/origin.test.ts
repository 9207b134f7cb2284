import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { addSupplier, readingSupplier } from '../../support/app/supplier.ts'
import { type TestApp, testApp } from '../../support/app/test-app.ts'
import { upload } from '../../support/app/upload.ts'

const service = await testApp({ TESLIM_TRUST_PROXY: '127.0.0.1' })
const { app, store } = service
const { key, keyId, apiKeys, customer } = await addSupplier(service)
const operator = await readingSupplier(service, { scope: 'operator' })

const headers = { ApiKey: key, 'x-forwarded-for': '2001:db8::7' }

async function deliver(orderId: string, more = {}, query = ''): Promise<{ receipt: string; request: string }> {
  const answer = await app.inject({
    method: 'POST',
    url: `/Purchase/update${query}`,
    headers: { ...headers, ...more },
    payload: { OrderID: orderId, Status: 1 },
  })
  expect(answer.statusCode).toBe(200)
  return { receipt: answer.json().data.ReceiptID, request: String(answer.headers['x-request-id']) }
}

const originOf = async (receipt: string, { get }: Pick<typeof operator, 'get'> = operator) => {
  const { KeyID, KeyLabel, Address, RequestID } = (await get(`/Purchase/delivery/${receipt}`)).json().data
  return { KeyID, KeyLabel, Address, RequestID }
}

describe('one delivery tells where it came from', () => {
  it('with the address that a trusted proxy names, and the id of the request', async () => {
    const made = await deliver('made')
    const origin = { KeyID: keyId, KeyLabel: 'test', Address: '2001:db8::7' }
    expect(await originOf(made.receipt)).toEqual({ ...origin, RequestID: made.request })
    const chosen = await deliver('chosen', { 'x-request-id': 'my request'.replace(' ', '/') })
    expect(await originOf(chosen.receipt)).toEqual({ ...origin, RequestID: 'my/request' })
  })

  it('with the label that the key has now', async () => {
    const { view } = await apiKeys.issue(customer.id, 'before')
    const { receipt } = await deliver('label', { ApiKey: (await apiKeys.issue(customer.id, 'other')).key })
    expect(await originOf(receipt)).toMatchObject({ KeyLabel: 'other' })
    const { KeyID } = await originOf(receipt)
    await store.apiKeys.change(KeyID, { label: 'after' })
    expect(await originOf(receipt)).toMatchObject({ KeyLabel: 'after' })
    expect(view.id).not.toBe(KeyID)
  })

  it('also to the API customer whose delivery it is, and not to suppliers or in the feed', async () => {
    const own = await readingSupplier(service)
    const { ReceiptID } = await own.deliver({ OrderID: 'own', Status: 1 })
    expect(await originOf(ReceiptID, own)).toMatchObject({ KeyLabel: 'test', Address: '127.0.0.1' })
    const { receipt } = await deliver('supplier')
    const read = await app.inject({ url: `/Supplier/delivery/${receipt}`, headers: { ApiKey: key } })
    expect(Object.keys(read.json().data)).not.toContain('KeyID')
    const feed = await operator.get('/Purchase/feed?limit=100')
    expect(feed.payload).not.toContain('KeyID')
  })

  it('with nothing for one that an earlier version stored', async () => {
    const { receipt } = await deliver('earlier')
    const unknown = { KeyID: null, KeyLabel: null, Address: null, RequestID: null }
    await withoutOrigin(service, receipt)
    expect(await originOf(receipt)).toEqual(unknown)
  })

  it('for each line of an upload, with the id of its request', async () => {
    await app.listen({ port: 0, host: '127.0.0.1' })
    const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
    const lines = ['u-1', 'u-2'].map((orderId) => JSON.stringify({ OrderID: orderId, Status: 1 }))
    const { answers } = await upload(url, key, lines.join('\n'))
    const origins = await Promise.all(answers.map(({ data }) => originOf(data?.ReceiptID ?? '')))
    expect(origins).toMatchObject([
      { KeyID: keyId, Address: '127.0.0.1', RequestID: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      { RequestID: origins[0]?.RequestID },
    ])
  })
})

async function withoutOrigin({ config }: TestApp, receipt: string): Promise<void> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(config.databaseUrl.replace('sqlite:', ''))
  database.prepare("UPDATE delivery SET origin = NULL WHERE receipt = unhex(?, '-')").run(receipt)
  database.close()
}
