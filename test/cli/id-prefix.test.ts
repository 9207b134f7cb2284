import { beforeAll, describe, expect, it } from 'vitest'
import { commandStage } from '../support/processes/command-stage.ts'
import { apiKey, customer, delivery, webhook } from '../support/store/store-rows.ts'

const id = (end: string): string => `019f6a21-1b2c-7000-8000-0000000000${end}`

const URL = 'https://shop.example/'

describe('a unique prefix of an id', () => {
  const { run, json, withStore } = commandStage()

  beforeAll(() =>
    withStore(async (store) => {
      const [one, other] = [
        customer({ id: id('a1'), name: '', email: 'one@b.co' }),
        customer({ id: id('b2'), name: '', email: 'other@b.co' }),
      ] as const
      for (const each of [one, other]) await store.customers.insert(each)
      await store.apiKeys.insert(apiKey(one.id, { id: id('c3'), label: 'erp' }))
      await store.apiKeys.insert(apiKey(one.id, { id: id('c4'), label: '' }))
      await store.deliveries.deliver(delivery(one.id, { receiptId: id('d5'), orderId: 'PO-1' }))
      await store.deliveries.deliver(delivery(other.id, { receiptId: id('e6'), orderId: 'PO-2' }))
      for (const end of ['f7', 'f8']) await store.webhooks.add(webhook({ id: id(end), url: URL }))
    }),
  )

  it('names a customer, a receipt or an API key', async () => {
    expect(await json('customer', 'show', id('a1').slice(0, -1))).toMatchObject({ email: 'one@b.co' })
    expect(await json('customer', 'show', id('B').toUpperCase())).toMatchObject({ email: 'other@b.co' })
    expect(await json('delivery', 'show', id('d'))).toMatchObject({ ReceiptID: id('d5') })
    expect(await json('delivery', 'list', '--customer', id('b'))).toMatchObject([{ ReceiptID: id('e6') }])
    expect(await json('webhook', 'pause', id('F7').toUpperCase())).toMatchObject({ EndpointID: id('f7') })
    expect(await json('key', 'revoke', id('c4').slice(0, 36))).toMatchObject({ id: id('c4'), state: 'revoked' })
  })

  it.each([
    ['customer', 'show', '019f6a21', `${id('a1')} (one@b.co), ${id('b2')} (other@b.co)`],
    ['key', 'revoke', '019f6a21', `${id('c3')} (erp), ${id('c4')}`],
    ['delivery', 'show', '019f6a21', `${id('d5')}, ${id('e6')}`],
    // Two characters are enough: there are few endpoints.
    ['webhook', 'pause', '01', `${id('f7')} (${URL}), ${id('f8')} (${URL})`],
  ])('that is ambiguous is an error of %s %s that lists the candidates', async (noun, verb, prefix, named) => {
    const { status, stdout, stderr } = await run(noun, verb, prefix)
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toBe(`teslim ${noun} ${verb}: Several ids begin with ${prefix}: ${named}. Type more characters.\n`)
  })

  it.each([
    ['customer', 'show', '019', 'There is no customer "019".'],
    ['customer', 'show', '019f6a22', 'There is no customer "019f6a22".'],
    ['key', 'revoke', '019f6a22', 'There is no API key "019f6a22".'],
    ['delivery', 'show', '019f6a22', 'There is no delivery "019f6a22".'],
    ['webhook', 'show', '0', 'There is no endpoint "0".'],
    ['webhook', 'show', '02', 'There is no endpoint "02".'],
  ])("is not found by %s %s %s, too short or nobody's", async (noun, verb, prefix, message) => {
    const { status, stdout, stderr } = await run(noun, verb, prefix)
    expect([status, stdout, stderr]).toEqual([1, '', expect.stringContaining(message)])
  })
})
