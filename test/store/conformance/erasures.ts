import { describe, expect } from 'vitest'
import type { Customer, Store } from '#src/store/store.ts'
import { apiKey, delivery } from '../../support/store/store-rows.ts'
import { bytes, deliverAll, type Open, promises } from './promises.ts'

const all = { limit: 1e6, scan: 1e6 }

export function describeErasures(name: string, open: Open): void {
  describe(`${name}: erasures`, () => {
    const { withCustomers } = promises(open)

    withCustomers('a customer is erased: payloads, order ids and keys, but not receipts', async (store, one, two) => {
      const keyed = (id: string) => ({ orderId: 'secret', idempotency: { key: `secret-${id}`, notBefore: 0 } })
      const payload = Buffer.from(JSON.stringify({ Status: 2, text: 'large enough for a digest '.repeat(9) }))
      const lookalike = Buffer.from(JSON.stringify({ SHA256: 'abc', Status: 3, text: `${'secret '.repeat(20)}"}` }))
      const theirs = [
        delivery(one.id, keyed(one.id)),
        delivery(one.id, { orderId: 'secret', status: 2, payload }),
        delivery(one.id, { orderId: 'secret', status: 3, payload: Buffer.from(`{"SHA256":"abc","Text":"secret"}`) }),
        delivery(one.id, { orderId: null, status: 4, payload: lookalike }),
      ]
      const others = delivery(two.id, { orderId: 'secret' })
      await deliverAll(store, [...theirs, others])
      await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: true })
      let erased = 0
      for (let after: number | null = 0; after !== null; ) {
        const page = await store.purges.erase(one.id, after, 100)
        erased += page.deliveries
        after = page.position
      }
      while (await store.purges.eraseNames(one.id));
      expect(erased).toBe(theirs.length)
      expect(await store.purges.erase(one.id, 0, 1e6)).toMatchObject({ deliveries: 0 })
      for (let after: number | null = 0; after !== null; ) after = await store.purges.wipePages(after, 100)
      for (const { receiptId, receivedAt, status } of theirs) {
        const found = await store.deliveries.findByReceipt(receiptId)
        expect(found).toMatchObject({ receiptId, receivedAt, status, customerId: one.id, orderId: null, erased: true })
        expect(bytes(found?.payload).toString().trim()).toMatch(/^\{("SHA256":"[0-9a-f]{64}")?\}$/)
      }
      expect(await store.deliveries.history(one.id, 'secret')).toEqual([])
      expect((await store.deliveries.orders(null, { customerId: one.id }, all)).orders).toEqual([])
      expect((await store.deliveries.after(0, { customerId: one.id }, all)).deliveries).toMatchObject(
        theirs.map(() => ({ erased: true })),
      )
      expect(await store.deliveries.findByReceipt(others.receiptId)).toMatchObject({ erased: false, orderId: 'secret' })
      expect(await store.purges.wipeLog()).toBeUndefined()
    })

    const LARGE = Buffer.from(JSON.stringify({ Status: 2, text: 'large enough for a digest '.repeat(9) }))
    const SMALL = Buffer.from('{"Status":2}')

    const positionOf = async ({ deliveries }: Store, receiptId: string): Promise<number> =>
      (await deliveries.findByReceipt(receiptId))?.position ?? 0

    /** Erases one delivery, and those of the same customer with its bytes that are its echoes. */
    async function eraseOne(store: Store, { id }: Customer, receiptId: string, dryRun = false): Promise<number> {
      const { deliveries } = await store.deliveries.after(0, { customerId: id }, all)
      const scope = { customerId: id, positions: deliveries.map(({ position }) => position) }
      const withEchoes = { ...scope, sameAs: await positionOf(store, receiptId) }
      return dryRun ? (await store.purges.erasable(withEchoes)).length : store.purges.eraseSome(withEchoes)
    }

    withCustomers('a delivery is erased with its echoes, and nothing else', async (store, one) => {
      const origin = {
        keyId: '0199f3c2-8f4e-7c31-9d2a-000000000001',
        address: '192.0.2.1',
        requestId: 'secret-request',
      }
      const first = delivery(one.id, { orderId: 'PO', payload: LARGE, origin })
      const echo = delivery(one.id, { orderId: 'PO', payload: LARGE, origin })
      const later = delivery(one.id, { orderId: 'PO', payload: Buffer.from('{"Status":3}'), origin })
      const again = delivery(one.id, { orderId: 'PO', payload: LARGE, origin })
      await deliverAll(store, [first, echo, later, again])
      expect(await eraseOne(store, one, echo.receiptId, true)).toBe(2)
      expect(await store.deliveries.findByReceipt(first.receiptId)).toMatchObject({ erased: false })
      expect(await eraseOne(store, one, echo.receiptId)).toBe(2)
      expect(await eraseOne(store, one, first.receiptId)).toBe(0)
      for (const { receiptId, receivedAt, status } of [first, echo]) {
        const found = await store.deliveries.findByReceipt(receiptId)
        expect(found).toMatchObject({ receiptId, receivedAt, status, orderId: 'PO', erased: true })
        expect(found?.origin).toMatchObject({ keyId: origin.keyId, address: null, requestId: null })
        expect(bytes(found?.payload).toString().trim()).toMatch(/^\{"SHA256":"[0-9a-f]{64}"\}$/)
      }
      const { deliveries } = await store.deliveries.after(0, { customerId: one.id }, all)
      expect(deliveries.map(({ erased, orderId }) => [erased, orderId])).toEqual([
        [true, 'PO'],
        [true, 'PO'],
        [false, 'PO'],
        [false, 'PO'],
      ])
      const back: boolean[] = []
      for (let position = Number.MAX_SAFE_INTEGER; position > 0; ) {
        const page = await store.deliveries.before(position, { customerId: one.id }, all)
        back.push(...page.deliveries.map(({ erased }) => erased))
        position = page.position
      }
      expect(back).toEqual([false, false, true, true])
      expect((await store.deliveries.history(one.id, 'PO')).map(({ erased }) => erased)).toEqual([
        false,
        false,
        true,
        true,
      ])
      const payloads = await store.deliveries.payloads(deliveries.map(({ position }) => position))
      expect(deliveries.map(({ position }) => payloads.get(position) === null)).toEqual([true, true, false, false])
    })

    for (const [size, payload] of [
      ['large', LARGE],
      ['small', SMALL],
    ] as const) {
      withCustomers(`a retry of a ${size} delivery that is erased still gets its receipt`, async (store, one) => {
        const keyed = delivery(one.id, { orderId: 'PO', payload, idempotency: { key: 'k', notBefore: 0 } })
        await deliverAll(store, [keyed])
        expect(await eraseOne(store, one, keyed.receiptId)).toBe(1)
        const retry = { ...keyed, receiptId: delivery('').receiptId }
        const expected = { receiptId: keyed.receiptId, duplicate: true }
        expect(await store.deliveries.findDuplicate(retry)).toMatchObject(expected)
        expect(await store.deliveries.deliver(retry)).toMatchObject(expected)
        const other = { ...retry, payload: Buffer.from(LARGE.toString().replace('enough', 'eno-gh')) }
        const reused = { code: 'IDEMPOTENCY_KEY_REUSED' }
        if (size === 'large') {
          await expect(store.deliveries.findDuplicate(other)).rejects.toMatchObject(reused)
          await expect(store.deliveries.deliver(other)).rejects.toMatchObject(reused)
        }
        expect((await store.deliveries.after(0, { customerId: one.id }, all)).deliveries).toHaveLength(1)
      })
    }

    withCustomers('an echo of an erased delivery does not bring it back', async (store, one) => {
      const origin = {
        keyId: '0199f3c2-8f4e-7c31-9d2a-000000000001',
        address: '192.0.2.1',
        requestId: 'secret-request',
      }
      const first = delivery(one.id, { orderId: 'PO', payload: LARGE, origin })
      await deliverAll(store, [first])
      expect(await eraseOne(store, one, first.receiptId)).toBe(1)
      const echoes = [1, 2, 3].map(() => delivery(one.id, { orderId: 'PO', payload: LARGE, origin }))
      for (const outcome of await Promise.all(echoes.map((each) => store.deliveries.deliver(each))))
        expect(outcome).toMatchObject({ receiptId: first.receiptId, duplicate: true })
      for (const { receiptId } of echoes) {
        const found = await store.deliveries.findByReceipt(receiptId)
        expect(found).toMatchObject({ erased: true, duplicate: true, origin: { address: null, requestId: null } })
        expect(bytes(found?.payload).toString()).not.toContain('large enough')
      }
      const next = delivery(one.id, { orderId: 'PO', payload: SMALL })
      await deliverAll(store, [next])
      const found = await store.deliveries.findByReceipt(next.receiptId)
      expect([found?.erased, bytes(found?.payload)]).toEqual([false, SMALL])
    })

    withCustomers('two erasures of the same deliveries at once erase each one once', async (store, one) => {
      const sent = Array.from({ length: 40 }, () => delivery(one.id, { orderId: 'PO' }))
      await Promise.all(sent.map((each) => store.deliveries.deliver(each)))
      const { deliveries } = await store.deliveries.after(0, { customerId: one.id }, all)
      const positions = deliveries.map(({ position }) => position)
      const scope = { customerId: one.id, sameAs: null }
      const erased = await Promise.all([
        store.purges.eraseSome({ ...scope, positions }),
        store.purges.eraseSome({ ...scope, positions: positions.toReversed() }),
      ])
      expect(erased[0] + erased[1]).toBe(40)
    })

    withCustomers('a customer whose deliveries were erased before loses their order ids, too', async (store, one) => {
      const sent = delivery(one.id, { orderId: 'PO', payload: LARGE })
      await deliverAll(store, [sent])
      await eraseOne(store, one, sent.receiptId)
      const before = await store.deliveries.findByReceipt(sent.receiptId)
      await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: true })
      const page = (after: number) => store.purges.erase(one.id, after, 1e6)
      expect([(await page(0)).deliveries, (await page(0)).deliveries]).toEqual([1, 0])
      const found = await store.deliveries.findByReceipt(sent.receiptId)
      expect(found).toMatchObject({ erased: true, orderId: null, payload: before?.payload })
    })

    withCustomers('a use of a key that is recorded late does not come back', async ({ apiKeys, customers }, one) => {
      const key = apiKey(one.id)
      await apiKeys.insert(key)
      await customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: false })
      await apiKeys.recordUses([{ keyId: key.id, usedAt: 20, address: '192.0.2.1' }], 20)
      expect(await apiKeys.list(one.id)).toMatchObject([{ id: key.id, lastUse: null }])
    })

    withCustomers('what an erased customer still delivers is refused, and only that', async (store, one, two) => {
      const idempotency = { key: 'late', notBefore: 0 }
      await deliverAll(store, [delivery(one.id), delivery(two.id)])
      await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: true })
      const late = [delivery(one.id), delivery(two.id), delivery(one.id, { idempotency }), delivery(two.id)]
      const outcomes = await Promise.allSettled(late.map((each) => store.deliveries.deliver(each)))
      const refused = { status: 'rejected', reason: { code: 'API_KEY_INVALID' } }
      const stored = { status: 'fulfilled', value: { duplicate: false } }
      expect(outcomes).toMatchObject([refused, stored, refused, stored])
      expect((await store.deliveries.after(0, { customerId: one.id }, all)).deliveries).toHaveLength(1)
    })
  })
}
