import { describe, expect } from 'vitest'
import { newId } from '#src/lib/random.ts'
import type { DeliveryOrigin, Filter } from '#src/store/store.ts'
import { apiKey, delivery } from '../../support/store/store-rows.ts'
import { deliverAll, type Open, promises } from './promises.ts'

const uuid = (number: number): string => `0fa1fd40-d173-7140-8bbb-${number.toString(16).padStart(12, '0')}`

export function describeOrigins(name: string, open: Open): void {
  describe(`${name}: origins`, () => {
    const { withCustomers } = promises(open)

    withCustomers('of deliveries are kept, whatever the ids of their requests look like', async (store, one) => {
      const keyId = crypto.randomUUID()
      await store.apiKeys.insert(apiKey(one.id, { id: keyId, label: 'ERP ü' }))
      const requestIds = [
        uuid(1),
        '00000000-0000-0000-0000-000000000000',
        // These are not as a UUID is written.
        uuid(255).toUpperCase(),
        uuid(1).replaceAll('-', ''),
        `{${uuid(1)}}`,
        'x',
        '0123456789abcdef',
        '0123456789abcde',
        '!~"\\\'`,;|$1',
        'r'.repeat(128),
      ]
      const addresses = [
        '192.0.2.1',
        '2001:db8:85a3:8d3:1319:8a2e:370:7348',
        '::ffff:192.0.2.1',
        'fe80::1%eth0',
        'unknown',
      ]
      const origins: (DeliveryOrigin | null)[] = requestIds.map((requestId, n) => ({
        keyId: n === 3 ? uuid(3) : keyId,
        address: addresses[n % addresses.length] ?? '',
        requestId,
      }))
      origins.splice(4, 0, null)
      const sent = origins.map((origin, n) =>
        delivery(one.id, { origin, orderId: n % 3 ? `o${n % 2}` : null, payload: Buffer.from(`{"n":${n % 5}}`) }),
      )
      const oneByOne = origins.map((origin) => delivery(one.id, { origin }))
      await Promise.all(sent.map((each) => store.deliveries.deliver(each)))
      await deliverAll(store, oneByOne)
      for (const { receiptId, origin } of [...sent, ...oneByOne]) {
        const found = await store.deliveries.findByReceipt(receiptId)
        expect(found?.origin).toEqual(origin && { ...origin, keyLabel: origin.keyId === keyId ? 'ERP ü' : null })
      }
    })

    withCustomers('find deliveries by their API key and by a part of their address', async (store, one, two) => {
      const keyId = crypto.randomUUID()
      await store.apiKeys.insert(apiKey(one.id, { id: keyId, label: 'leaked' }))
      const from = (key: string, address: string, requestId = 'r') => ({ keyId: key, address, requestId })
      const origins = [
        from(keyId, '192.0.2.1'),
        from(keyId, '192.0.2.17', uuid(5)),
        null,
        from(uuid(6), '192.0.2.1', 'r'.repeat(128)),
        from(keyId, '2001:db8::7'),
      ]
      // A large payload lies between the beginning of a row and its origin.
      const payload = (n: number) => Buffer.from(`{"n":${n},"filler":"${'x'.repeat(n % 2 ? 20_000 : 1)}"}`)
      const sent = origins.map((origin, n) => delivery(one.id, { origin, payload: payload(n) }))
      const others = delivery(two.id, { origin: from(keyId, '192.0.2.1') })
      await deliverAll(store, [...sent, others])
      const { before, after, findByReceipt, lastPosition } = store.deliveries
      const last = await lastPosition()
      // A failover leaves gaps between them.
      const positions = await Promise.all(
        [...sent, others].map(async ({ receiptId }) => (await findByReceipt(receiptId))?.position ?? 0),
      )
      const [first = 0] = positions
      const bounds = { limit: 10, scan: 6 }
      const places = (found: readonly { receiptId: string }[]) =>
        found.map(({ receiptId }) => [...sent, others].findIndex((each) => each.receiptId === receiptId))
      const both = async (filter: Filter) => {
        const [back, on]: [number[], number[]] = [[], []]
        for (let place = last + 1; place > first; ) {
          const page = await before(place, filter, bounds)
          back.push(...places(page.deliveries.filter(({ position }) => position >= first)))
          place = page.position
        }
        for (let place = first - 1; place < last; ) {
          const page = await after(place, filter, bounds)
          on.push(...places(page.deliveries))
          place = page.position
        }
        expect(back).toEqual(on.toReversed())
        return on
      }
      const mine = { customerId: one.id }
      expect(await both({ keyId })).toEqual([0, 1, 4, 5])
      expect(await both({ ...mine, keyId })).toEqual([0, 1, 4])
      expect(await both({ ...mine, keyId: uuid(6), status: 1 })).toEqual([3])
      expect(await both({ addressPart: '192.0.2.1' })).toEqual([0, 1, 3, 5])
      expect(await both({ ...mine, addressPart: '192.0.2.1' })).toEqual([0, 1, 3])
      expect(await both({ ...mine, keyId, addressPart: '2001:db8:' })).toEqual([4])
      for (const unknown of ['', 'x', keyId.toUpperCase(), uuid(7)]) expect(await both({ keyId: unknown })).toEqual([])
      const known = await store.deliveries.origins([...positions, last + 9])
      expect([0, 1, 2, 5].map((place) => known.get(positions[place] ?? 0))).toEqual([
        { ...origins[0], keyLabel: 'leaked' },
        { ...origins[1], keyLabel: 'leaked' },
        undefined,
        { ...others.origin, keyLabel: 'leaked' },
      ])
      await store.customers.remove(two.id, { tokenGeneration: 'ended', now: 1, erase: true })
      expect((await store.deliveries.origins([last])).get(last)).toMatchObject({
        keyId,
        address: null,
        requestId: null,
      })
    })

    withCustomers('of a retry is not kept, and nothing is kept of what was only asked about', async (store, one) => {
      const idempotency = { key: 'once', notBefore: 0 }
      const origin = { keyId: uuid(7), address: '192.0.2.7', requestId: 'first' }
      const first = delivery(one.id, { idempotency, origin })
      const { payload, orderId } = first
      expect(await store.deliveries.findDuplicate(first)).toBeUndefined()
      expect(await store.deliveries.findByReceipt(first.receiptId)).toBeUndefined()
      await store.deliveries.deliver(first)
      const retry = delivery(one.id, { idempotency, payload, orderId, origin: { ...origin, requestId: 'second' } })
      expect(await store.deliveries.deliver(retry)).toMatchObject({ receiptId: first.receiptId, duplicate: true })
      expect((await store.deliveries.findByReceipt(first.receiptId))?.origin).toEqual({ ...origin, keyLabel: null })
    })

    withCustomers(
      'lead from the id of a request that the service made to what it delivered',
      async (store, one, two) => {
        const madeAt = Date.UTC(2026, 10, 21)
        const id = (time: number, n: number) => newId(time, () => Buffer.alloc(10, n))
        const from = (requestId: string, receiptId: string, customerId = one.id) =>
          delivery(customerId, { receiptId, origin: { keyId: uuid(3), address: '192.0.2.1', requestId } })
        const requestId = id(madeAt, 1)
        const receipts = [id(madeAt, 20), id(madeAt + 30_000, 21), id(madeAt + 59_999, 22)]
        await deliverAll(store, [
          ...receipts.map((receiptId) => from(requestId, receiptId)),
          from(id(madeAt, 2), id(madeAt + 1, 23)),
          from('own-id', id(madeAt + 2, 24)),
          from(requestId.toUpperCase(), id(madeAt + 3, 25)),
          from(requestId, id(madeAt + 60_000, 26)),
          from(requestId, id(madeAt - 1, 27)),
          delivery(one.id, { receiptId: id(madeAt + 4, 28) }),
          from(id(madeAt, 3), id(madeAt + 5, 29), two.id),
        ])
        const { receiptsOfRequest } = store.deliveries
        const all = { limit: 10, scan: 100 }
        expect(await receiptsOfRequest(requestId, all)).toEqual(receipts)
        expect(await receiptsOfRequest(requestId, { ...all, limit: 2 })).toEqual(receipts.slice(0, 2))
        expect(await receiptsOfRequest(requestId, { ...all, scan: 1 })).toEqual(receipts.slice(0, 1))
        expect(await receiptsOfRequest(id(madeAt, 9), all)).toEqual([])
        for (const other of ['own-id', '', requestId.toUpperCase(), crypto.randomUUID(), `${requestId}0`]) {
          expect([other, await receiptsOfRequest(other, all)]).toEqual([other, undefined])
        }
        const theirs = id(madeAt, 3)
        expect(await receiptsOfRequest(theirs, all)).toHaveLength(1)
        await store.customers.remove(two.id, { tokenGeneration: 'ended', now: 1, erase: true })
        for (let after: number | null = 0; after !== null; )
          after = (await store.purges.erase(two.id, after, 100)).position
        expect(await receiptsOfRequest(theirs, all)).toEqual([])
      },
    )

    withCustomers('lose address and request id when their customer is erased', async (store, one, two) => {
      const origin = { keyId: uuid(8), address: '198.51.100.8', requestId: 'secret-request' }
      const theirs = [
        delivery(one.id, { origin }),
        delivery(one.id, { origin: { ...origin, requestId: uuid(99) }, orderId: null }),
        delivery(one.id),
      ]
      const others = delivery(two.id, { origin })
      await deliverAll(store, [...theirs, others])
      const eraseAll = async (): Promise<number> => {
        let erased = 0
        for (let after: number | null = 0; after !== null; ) {
          const page = await store.purges.erase(one.id, after, 100)
          erased += page.deliveries
          after = page.position
        }
        return erased
      }
      await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: true })
      const shown = { keyId: uuid(8), keyLabel: null, address: null, requestId: null }
      // Also before anything was overwritten.
      for (let times = 0; times < 2; times++) {
        for (const { receiptId, origin } of theirs) {
          expect((await store.deliveries.findByReceipt(receiptId))?.origin).toEqual(origin && shown)
        }
        expect(await eraseAll()).toBe(times === 0 ? theirs.length : 0)
      }
      expect((await store.deliveries.findByReceipt(others.receiptId))?.origin).toEqual({ ...origin, keyLabel: null })
    })
  })
}
