import { expect, it } from 'vitest'
import { operating } from '../support/app/operating.ts'
import { readingSupplier } from '../support/app/supplier.ts'
import { testApp } from '../support/app/test-app.ts'
import { storesOfRun } from '../support/store/stores.ts'

it.each(storesOfRun())(
  'operators read what people call a customer beside its id, and nobody else does, on %s',
  async (_, empty) => {
    const service = await testApp({ TESLIM_CONSOLE: 'on', ...(await empty()) })
    const { app } = service
    const supplier = await readingSupplier(service, { name: 'Kitap A.Ş.' })
    const nameless = await readingSupplier(service)
    const { get, post } = await operating(service)
    const { get: follow } = await operating(service, { scope: 'feed' })
    const { ReceiptID } = await supplier.deliver({ OrderID: 'PO-1', Status: 2 })
    await nameless.deliver({ OrderID: 'PO-2', Status: 2 })
    for (const ApiKey of [supplier.key, 'tsl_unknown'])
      await app.inject({ method: 'POST', url: '/Purchase/update', headers: { ApiKey }, payload: '{"Status":7}' })
    await app.flushRefusals()
    await post('/Webhook/endpoints', { URL: 'https://93.184.215.14/', Customer: supplier.customer.id })
    await post('/Webhook/endpoints', { URL: 'https://93.184.215.14/all' })
    const { RefusalID } = (await supplier.get('/Purchase/refusals')).json().data.Refusals[0]

    /** What an answer says of customers, by their ids. */
    const namesIn = (answer: { json(): unknown }): Record<string, unknown> => {
      const found: Record<string, unknown> = {}
      JSON.stringify(answer.json(), (_key, value) => {
        if (value?.CustomerID !== undefined) found[String(value.CustomerID)] = value.Customer
        return value
      })
      return found
    }
    const named = { [supplier.customer.id]: `Kitap A.Ş. <${supplier.customer.email}>` }
    const ofAll = { ...named, [nameless.customer.id]: nameless.customer.email }
    const one = [
      '/Purchase/detail/PO-1',
      `/Purchase/delivery/${ReceiptID}`,
      `/Purchase/refusal/${RefusalID}`,
      `/Purchase/refusals?customer=${supplier.customer.id}`,
    ]
    for (const url of ['/Purchase/list', '/Purchase/list?order=newest', '/Purchase/deliveries', '/Operator/live'])
      expect([url, namesIn(await get(url))]).toEqual([url, ofAll])
    for (const url of one) expect([url, namesIn(await get(url))]).toEqual([url, named])
    expect(namesIn(await get('/Purchase/refusals'))).toEqual({ ...named, null: undefined })
    expect(namesIn(await get('/Webhook/endpoints'))).toEqual({ ...named, null: undefined })
    expect(namesIn(await get('/Operator/audit?action=delivery'))).toEqual({ ...named, null: undefined })

    const unnamed = { [supplier.customer.id]: undefined }
    for (const url of [...one, '/Purchase/list', '/Purchase/deliveries', '/Purchase/feed'])
      expect([url, namesIn(await supplier.get(url))]).toEqual([url, unnamed])
    expect(namesIn(await follow(`/Purchase/delivery/${ReceiptID}`))).toEqual(unnamed)
    expect(namesIn(await get(`/Purchase/feed?customer=${supplier.customer.id}`))).toEqual(unnamed)
  },
)
