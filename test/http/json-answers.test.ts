import { describe, expect, it } from 'vitest'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { systemRandom } from '#src/lib/random.ts'
import { operating } from '../support/app/operating.ts'
import { addCustomer, LOGIN, PASSWORD, testApp } from '../support/app/test-app.ts'
import { published } from '../support/docs/contract.ts'
import { webhook } from '../support/store/store-rows.ts'

const service = await testApp()
const { app, store, customers, clock, login } = service
const { id, email } = await addCustomer(service, { authority: ['*'] })
const operator = await operating(service)
const { key } = await createApiKeys({ store, customers, clock, random: systemRandom }).issue(email, '')
const credentials = { Email: email, Password: PASSWORD }
const { Token } = (await login(credentials)).json().data
const delivered = '{"OrderID":"ü-1", "Status":1}'
const deliver = () =>
  app.inject({ method: 'POST', url: '/Purchase/update', headers: { ApiKey: key }, payload: delivered })
const { ReceiptID } = (await deliver()).json().data
const authorization = `Bearer ${Token}`
await app.inject({ method: 'POST', url: '/Purchase/update', headers: { ApiKey: key }, payload: '{"Status":9}' })
await app.flushRefusals()
const { Refusals } = (await app.inject({ url: '/Purchase/refusals', headers: { authorization } })).json().data
const endpoint = webhook()
await store.webhooks.add(endpoint)

const paths = Object.keys(published.paths)
  .filter((path) => published.paths[path]?.get && path !== '/openapi.yaml')
  .map((path) => path.replace('{orderId}', 'ü-1').replace('{receiptId}', ReceiptID).replace('{customerId}', id))
  .map((path) => path.replace('{endpointId}', endpoint.id).replace('{refusalId}', Refusals[0].RefusalID))
  .map((path) =>
    path.endsWith('/deliveries') && path.startsWith('/Webhook/') ? `${path}?receiptId=${ReceiptID}` : path,
  )
const envelopes = paths.filter((path) => !path.endsWith('/payload'))

describe('every JSON answer ends with one newline', () => {
  it.each(envelopes)('of %s, with the right length, under HEAD too', async (url) => {
    const token = /^\/(Operator|Webhook)\//.test(url) ? `Bearer ${operator.token}` : authorization
    const sent = { authorization: token, ApiKey: key }
    const { rawPayload, statusCode, headers } = await app.inject({ url, headers: sent })
    expect(statusCode).toBe(200)
    expect(rawPayload.toString()).toMatch(/[^\n]\n$/)
    expect(headers['content-length']).toBe(String(rawPayload.length))
    const head = await app.inject({ method: 'HEAD', url, headers: sent })
    expect([head.statusCode, head.payload, head.headers['content-length']]).toEqual([
      200,
      '',
      headers['content-length'],
    ])
  })

  it.each([
    ['a delivery', deliver, 200],
    ['a login', () => login(credentials), 200],
    ['a refused login', () => login({}), 400],
    ['a missing address', () => app.inject('/nowhere'), 404],
    ['another method', () => app.inject(LOGIN), 405],
    ['another type', () => app.inject({ method: 'POST', url: LOGIN }), 415],
    ['an address that cannot be decoded', () => app.inject('/%zz'), 400],
    ['a read without a token', () => app.inject('/Purchase/list'), 401],
    ['a missing order', () => app.inject({ url: '/Purchase/detail/x', headers: { authorization } }), 404],
  ])('of %s', async (_what, send, status) => {
    const { rawPayload, statusCode, headers } = await send()
    expect(statusCode).toBe(status)
    expect(rawPayload.toString()).toMatch(/\}\n$/)
    expect(headers['content-length']).toBe(String(rawPayload.length))
  })
})

it('the bytes of a delivery are what was delivered, without a newline', async () => {
  const url = `/Purchase/delivery/${ReceiptID}/payload`
  const answer = await app.inject({ url, headers: { authorization } })
  expect([answer.payload, answer.headers['content-length']]).toEqual([delivered, String(Buffer.byteLength(delivered))])
})
