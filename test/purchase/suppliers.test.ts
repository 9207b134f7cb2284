import { expect, it } from 'vitest'
import { message } from '#src/lib/messages/message.ts'
import { createKeyUses } from '#src/purchase/suppliers.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { testApp } from '../support/app/test-app.ts'

const ADDRESS = '192.0.2.1'

it('a key that was looked up less than half a second ago needs no promise, accepted or refused', async () => {
  const service = await testApp()
  const { app, clock } = service
  const { key, keyId, customer, apiKeys } = await addSupplier(service)
  const { key: limited, view } = await apiKeys.issue(customer.id, 'limited', undefined, {
    networks: ['203.0.113.0/24'],
  })
  const find = (text: string) => app.suppliers.byApiKey(text, ADDRESS)

  const first = find(key)
  expect(first).toBeInstanceOf(Promise)
  const found = await first
  expect(found).toMatchObject({ key: { id: keyId }, customer: { id: customer.id } })
  expect(find(key)).toBe(found)

  await find(limited)
  expect(find(limited)).toEqual({
    reason: message('KEY_OF_OTHER_NETWORK', { key: view.id, address: ADDRESS }),
    customerId: customer.id,
    keyId: view.id,
  })

  expect(await find('tsl_unknown')).toEqual({ reason: message('KEY_UNKNOWN') })
  expect(find('tsl_unknown')).toBeInstanceOf(Promise)

  clock.time += 500
  const later = find(key)
  expect(later).toBeInstanceOf(Promise)
  expect(await later).toMatchObject({ key: { id: keyId }, customer: { id: customer.id } })
  expect(find(key)).toBe(await later)
})

it('of two writes that fail, the newer use of a key is kept, whichever fails last', async () => {
  const { store, clock } = await testApp()
  const failing: (() => void)[] = []
  const written: unknown[] = []
  const apiKeys = {
    ...store.apiKeys,
    recordUses: (..._: Parameters<typeof store.apiKeys.recordUses>) =>
      new Promise<void>((_resolve, reject) => failing.push(() => reject(new Error('the store is away')))),
  }
  const uses = createKeyUses(apiKeys, clock, () => undefined)
  uses.record('a', ADDRESS)
  const older = uses.flush()
  clock.time += 5000
  uses.record('a', '192.0.2.2')
  const newer = uses.flush()
  const [failOlder, failNewer] = failing
  failOlder?.()
  await older
  failNewer?.()
  await newer
  const usedAt = clock.now()
  clock.time += 60_000
  apiKeys.recordUses = async (all, now) => void written.push(...all, now)
  await uses.flush()
  expect(written).toEqual([{ keyId: 'a', usedAt, address: '192.0.2.2' }, clock.now()])
})

it('the last use of a key that could not be written is written later, unless it was used again', async () => {
  const { store, clock } = await testApp()
  const written: unknown[] = []
  const failed: unknown[] = []
  const away = (): Promise<void> => Promise.reject(new Error('the store is away'))
  const apiKeys = { ...store.apiKeys, recordUses: (..._: Parameters<typeof store.apiKeys.recordUses>) => away() }
  const uses = createKeyUses(apiKeys, clock, (error) => failed.push(error))
  const usedAt = clock.now()
  uses.record('a', ADDRESS)
  uses.record('b', ADDRESS)
  await uses.flush()
  expect(failed).toHaveLength(1)
  clock.time += 1000
  uses.record('b', '192.0.2.2')
  apiKeys.recordUses = async (all) => void written.push(...all)
  await uses.flush()
  await uses.flush()
  expect(written).toEqual([
    { keyId: 'a', usedAt, address: ADDRESS },
    { keyId: 'b', usedAt: usedAt + 1000, address: '192.0.2.2' },
  ])
})
