import { expect, it } from 'vitest'
import { addSupplier } from '../support/supplier.ts'
import { testApp } from '../support/test-app.ts'

const ADDRESS = '192.0.2.1'

it('a key that was looked up less than half a second ago needs no promise, accepted or refused', async () => {
  const service = await testApp()
  const { app, clock } = service
  const { key, keyId, customer, apiKeys } = await addSupplier(service)
  const { key: limited } = await apiKeys.issue(customer.id, 'limited', undefined, { networks: ['203.0.113.0/24'] })
  const find = (text: string) => app.suppliers.byApiKey(text, ADDRESS)

  const first = find(key)
  expect(first).toBeInstanceOf(Promise)
  const found = await first
  expect(found).toMatchObject({ key: { id: keyId }, customer: { id: customer.id } })
  expect(find(key)).toBe(found)

  await find(limited)
  expect(find(limited)).toEqual({
    reason: expect.stringContaining(ADDRESS),
    customerId: customer.id,
    keyId: expect.any(String),
  })

  expect(await find('tsl_unknown')).toEqual({ reason: 'unknown key' })
  expect(find('tsl_unknown')).toBeInstanceOf(Promise)

  clock.time += 500
  const later = find(key)
  expect(later).toBeInstanceOf(Promise)
  expect(await later).toMatchObject({ key: { id: keyId }, customer: { id: customer.id } })
  expect(find(key)).toBe(await later)
})
