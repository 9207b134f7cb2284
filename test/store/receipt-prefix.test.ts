import { expect, it } from 'vitest'
import { customer, delivery } from '../support/store/store-rows.ts'
import { storesOfRun } from '../support/store/stores.ts'
import { openTestStore } from '../support/store/test-store.ts'

it.each(storesOfRun())('%s finds receipts by the beginning of their text', async (_kind, emptyStore) => {
  const store = await openTestStore((await emptyStore()).DATABASE_URL)
  const one = customer()
  await store.customers.insert(one)
  const receipts = [
    '019f6a21-1b2c-7000-8000-000000000000',
    '019f6a21-1b2c-7fff-bfff-ffffffffffff',
    '019f6a21-1b2d-7000-8000-000000000000',
    '019f6a22-0000-7abc-8000-000000000000',
  ]
  for (const receiptId of receipts.toReversed()) await store.deliveries.deliver(delivery(one.id, { receiptId }))
  const find = (prefix: string, most = 10) => store.deliveries.receiptsWith(prefix, most)
  expect(await find('019f')).toEqual(receipts)
  expect(await find('019f', 2)).toEqual(receipts.slice(0, 2))
  expect(await find('019f6a21-1b2c')).toEqual(receipts.slice(0, 2))
  expect(await find('019f6a21-1b2c-')).toEqual(receipts.slice(0, 2))
  expect(await find('019f6a21-1b2c-7')).toEqual(receipts.slice(0, 2))
  expect(await find('019f6a21-1b2c-7000-8000-00000000000')).toEqual(receipts.slice(0, 1))
  expect(await find('019f6a22')).toEqual(receipts.slice(3))
  expect(await find('019f6a23')).toEqual([])
})
