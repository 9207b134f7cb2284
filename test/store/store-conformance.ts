import { describe, expect, it } from 'vitest'
import type { ApiKey, AuditEvent, Customer, NewDelivery, SigningKey, Store } from '#src/store/store.ts'

let counter = 0

export const customer = (more: Partial<Customer> = {}): Customer => {
  const id = `c-${String(++counter).padStart(6, '0')}`
  return {
    id,
    email: `${id}@example.com`,
    passwordHash: `hash of ${id}`,
    isApi: true,
    operator: false,
    enabled: true,
    regions: ['DE', 'TR'],
    authority: ['A-*', 'b'],
    tokensValidFrom: 0,
    createdAt: 1_763_726_400_123,
    ...more,
  }
}

export const key = (more: Partial<SigningKey> = {}): SigningKey => ({
  kid: `k-${++counter}`,
  algorithm: `alg-${counter}`,
  privateJwk: '{"d":"x"}',
  createdAt: 1_763_726_400_123,
  expiresAt: null,
  ...more,
})

export const apiKey = (customerId: string, more: Partial<ApiKey> = {}): ApiKey => {
  const number = ++counter
  const hash = Buffer.alloc(32, number)
  hash.writeUInt32BE(number)
  return {
    id: `a-${String(number).padStart(6, '0')}`,
    customerId,
    hash,
    label: 'ERP ü',
    createdAt: 5,
    expiresAt: null,
    revokedAt: null,
    successorId: null,
    ...more,
  }
}

export const delivery = (customerId: string, more: Partial<NewDelivery> = {}): NewDelivery => {
  const number = ++counter
  return {
    receiptId: `01a1fd40-d173-7140-8bbb-${number.toString(16).padStart(12, '0')}`,
    customerId,
    orderId: `order-${number}`,
    status: 1,
    receivedAt: 1_763_726_400_123,
    payload: Buffer.from(`{"Status":1,"number":${number}}`),
    idempotency: null,
    ...more,
  }
}

export const auditEvent = (more: Partial<AuditEvent> = {}): AuditEvent => ({
  at: 1_763_726_400_123,
  actor: 'cli:ü',
  action: 'key.issue',
  customerId: `who-${++counter}`,
  address: null,
  requestId: null,
  details: {},
  ...more,
})
const versionChanges = async (store: Store, work: () => Promise<unknown>): Promise<boolean> => {
  const before = await store.accountVersion()
  await work()
  return (await store.accountVersion()) !== before
}

const bytes = (array: Uint8Array | undefined): Buffer => Buffer.from(array ?? [])

/** What every adapter owes to the port. `open` gives a store on the same data each time it is called. */
export function describeStore(name: string, open: () => Promise<Store>): void {
  const withStore = async (work: (store: Store) => Promise<void>): Promise<void> => {
    const store = await open()
    try {
      await work(store)
    } finally {
      await store.close()
    }
  }
  const promise = (text: string, work: (store: Store) => Promise<void>): void => it(text, () => withStore(work))

  describe(`${name}: customers`, () => {
    promise('a customer is found by id and by e-mail as it was inserted', async ({ customers }) => {
      const one = customer({ isApi: false, operator: true, enabled: false, tokensValidFrom: 1_763_726_401 })
      expect(await customers.insert(one)).toBe('inserted')
      expect(await customers.findById(one.id)).toEqual(one)
      expect(await customers.findByEmail(one.email)).toEqual(one)
    })

    it('a customer is still there when the store is opened again', async () => {
      const one = customer({ regions: [], authority: [] })
      await withStore(async ({ customers }) => void (await customers.insert(one)))
      await withStore(async ({ customers }) => expect(await customers.findById(one.id)).toEqual(one))
    })

    promise('an e-mail address that is taken leaves nothing behind', async ({ customers }) => {
      const first = customer()
      const second = customer({ email: first.email, authority: ['other'] })
      await customers.insert(first)
      expect(await customers.insert(second)).toBe('email-taken')
      expect(await customers.findById(second.id)).toBeUndefined()
      expect(await customers.findByEmail(first.email)).toEqual(first)
    })

    promise('two inserts of one e-mail address at once leave one', async ({ customers }) => {
      const email = customer().email
      const outcomes = await Promise.all([1, 2, 3].map(() => customers.insert(customer({ email }))))
      expect(outcomes.toSorted()).toEqual(['email-taken', 'email-taken', 'inserted'])
    })

    promise('an unknown customer is undefined', async ({ customers }) => {
      expect(await customers.findById('nobody')).toBeUndefined()
      expect(await customers.findByEmail("' OR 1=1 --")).toBeUndefined()
    })

    promise('the list goes by id, a page at a time', async ({ customers }) => {
      const [a, b, c] = [customer(), customer(), customer()]
      for (const one of [c, a, b]) await customers.insert(one)
      const before = `${a.id.slice(0, -1)}${Number(a.id.slice(-1)) - 1}`
      const page = await customers.list({ afterId: before, limit: 2 })
      expect(page).toEqual([a, b])
      expect(await customers.list({ afterId: b.id, limit: 2 })).toEqual([c])
      expect(await customers.list({ limit: 1 })).toHaveLength(1)
    })

    promise('a new password takes the place of the old and never moves tokensValidFrom back', async ({ customers }) => {
      const one = customer({ tokensValidFrom: 500 })
      await customers.insert(one)
      expect(await customers.setPassword(one.id, 'new', 400)).toBe(true)
      expect(await customers.findById(one.id)).toEqual({ ...one, passwordHash: 'new' })
      await customers.setPassword(one.id, 'newer', 600)
      expect(await customers.findById(one.id)).toEqual({ ...one, passwordHash: 'newer', tokensValidFrom: 600 })
    })

    promise('a hash is replaced only while it is the one that was read', async ({ customers }) => {
      const one = customer()
      await customers.insert(one)
      expect(await customers.replacePasswordHash(one.id, 'another', 'stale')).toBe(false)
      expect(await customers.replacePasswordHash(one.id, one.passwordHash, 'fresh')).toBe(true)
      expect(await customers.findById(one.id)).toEqual({ ...one, passwordHash: 'fresh' })
    })

    promise('disabling moves tokensValidFrom, enabling leaves it', async ({ customers }) => {
      const one = customer()
      await customers.insert(one)
      expect(await customers.disable(one.id, 700)).toBe(true)
      expect(await customers.findById(one.id)).toEqual({ ...one, enabled: false, tokensValidFrom: 700 })
      expect(await customers.enable(one.id)).toBe(true)
      expect(await customers.findById(one.id)).toEqual({ ...one, tokensValidFrom: 700 })
    })

    promise('revoking tokens moves tokensValidFrom and nothing else, and never back', async ({ customers }) => {
      const one = customer({ tokensValidFrom: 500 })
      await customers.insert(one)
      expect(await customers.revokeTokens(one.id, 400)).toBe(true)
      expect(await customers.findById(one.id)).toEqual(one)
      expect(await customers.revokeTokens(one.id, 800)).toBe(true)
      expect(await customers.findById(one.id)).toEqual({ ...one, tokensValidFrom: 800 })
    })

    promise('authority rules are a set', async ({ customers }) => {
      const one = customer({ authority: ['b'] })
      await customers.insert(one)
      expect(await customers.addAuthority(one.id, ['a', 'b', 'a'])).toBe(true)
      expect((await customers.findById(one.id))?.authority).toEqual(['a', 'b'])
      expect(await customers.removeAuthority(one.id, ['b', 'none'])).toBe(true)
      expect((await customers.findById(one.id))?.authority).toEqual(['a'])
    })

    promise('a change to nobody changes nothing and says so', async ({ customers }) => {
      expect(await customers.setPassword('nobody', 'x', 1)).toBe(false)
      expect(await customers.enable('nobody')).toBe(false)
      expect(await customers.disable('nobody', 1)).toBe(false)
      expect(await customers.revokeTokens('nobody', 1)).toBe(false)
      expect(await customers.addAuthority('nobody', ['a'])).toBe(false)
      expect(await customers.removeAuthority('nobody', ['a'])).toBe(false)
    })

    promise('text comes back to the code unit', async ({ customers }) => {
      const one = customer({ authority: ['ı\u212a\u017f', '漢字 \u{1f9fe}', 'quote\'"\\'] })
      await customers.insert(one)
      expect((await customers.findById(one.id))?.authority.toSorted()).toEqual(one.authority.toSorted())
    })
  })

  const withCustomer = (text: string, work: (store: Store, customer: Customer) => Promise<void>): void =>
    promise(text, async (store) => {
      const one = customer()
      await store.customers.insert(one)
      await work(store, one)
    })

  describe(`${name}: API keys`, () => {
    withCustomer('a key is found by its hash, with its customer', async ({ apiKeys }, one) => {
      const key = apiKey(one.id, { expiresAt: 99, revokedAt: null })
      await apiKeys.insert(key)
      const found = await apiKeys.findByHash(key.hash)
      expect({ ...found?.key, hash: bytes(found?.key.hash) }).toEqual(key)
      expect(found?.customer).toEqual(one)
      expect(await apiKeys.findByHash(Buffer.alloc(32, 255))).toBeUndefined()
    })

    withCustomer('keys are listed by age, of one customer or all, with their last use', async ({ apiKeys }, one) => {
      const [first, second] = [apiKey(one.id), apiKey(one.id)]
      await apiKeys.insert(second)
      await apiKeys.insert(first)
      const use = { keyId: first.id, usedAt: 20, address: '::1' }
      await apiKeys.recordUses([use])
      await apiKeys.recordUses([{ ...use, usedAt: 10, address: 'earlier' }])
      const listed = await apiKeys.list(one.id)
      expect(listed.map(({ id, lastUse }) => [id, lastUse])).toEqual([
        [first.id, use],
        [second.id, null],
      ])
      expect((await apiKeys.list()).map(({ id }) => id)).toEqual(expect.arrayContaining([first.id, second.id]))
      expect(await apiKeys.list('nobody')).toEqual([])
    })

    withCustomer('the first revocation stands', async ({ apiKeys }, one) => {
      const key = apiKey(one.id)
      await apiKeys.insert(key)
      expect(await apiKeys.revoke(key.id, 7)).toBe(true)
      expect(await apiKeys.revoke(key.id, 9)).toBe(true)
      expect((await apiKeys.findByHash(key.hash))?.key.revokedAt).toBe(7)
      expect(await apiKeys.revoke('none', 7)).toBe(false)
    })

    const expiryOf = async ({ apiKeys }: Store, { hash }: ApiKey) => (await apiKeys.findByHash(hash))?.key.expiresAt
    const times = { now: 10, endsAt: 50 }

    withCustomer('a rotated key ends, and its successor is there', async (store, one) => {
      const [old, successor] = [apiKey(one.id), apiKey(one.id, { expiresAt: 99, label: 'new' })]
      await store.apiKeys.insert(old)
      expect(await store.apiKeys.rotate(old.id, successor, times)).toBe(true)
      const listed = await store.apiKeys.list(one.id)
      expect(listed.map(({ lastUse: _, hash, ...key }) => ({ ...key, hash: bytes(hash) }))).toEqual([
        { ...old, expiresAt: 50, successorId: successor.id },
        successor,
      ])
      expect((await store.apiKeys.findByHash(successor.hash))?.customer).toEqual(one)
    })

    withCustomer('a rotated key never outlives its own expiry', async (store, one) => {
      const [early, late] = [apiKey(one.id, { expiresAt: 49 }), apiKey(one.id, { expiresAt: 51 })]
      for (const old of [early, late]) {
        await store.apiKeys.insert(old)
        expect(await store.apiKeys.rotate(old.id, apiKey(one.id), times)).toBe(true)
      }
      expect([await expiryOf(store, early), await expiryOf(store, late)]).toEqual([49, 50])
    })

    withCustomer('a key that is not live, or was rotated, is not rotated', async (store, one) => {
      const { apiKeys } = store
      const [expired, revoked, rotated] = [
        apiKey(one.id, { expiresAt: 10 }),
        apiKey(one.id, { revokedAt: 5 }),
        apiKey(one.id),
      ]
      for (const key of [expired, revoked, rotated]) await apiKeys.insert(key)
      expect(await apiKeys.rotate(rotated.id, apiKey(one.id), times)).toBe(true)
      for (const id of [expired.id, revoked.id, rotated.id, 'none']) {
        const successor = apiKey(one.id)
        expect(await apiKeys.rotate(id, successor, { now: 10, endsAt: 20 })).toBe(false)
        expect(await apiKeys.findByHash(successor.hash)).toBeUndefined()
      }
      expect(await expiryOf(store, rotated)).toBe(50)
    })

    withCustomer('of many rotations of a key at once one is done', async ({ apiKeys }, one) => {
      const old = apiKey(one.id)
      await apiKeys.insert(old)
      const successors = [1, 2, 3, 4].map(() => apiKey(one.id))
      const done = await Promise.all(successors.map((successor) => apiKeys.rotate(old.id, successor, times)))
      expect(done.filter(Boolean)).toHaveLength(1)
      const winner = successors[done.indexOf(true)]
      expect((await apiKeys.list(one.id)).map(({ id }) => id)).toEqual([old.id, winner?.id])
      expect((await apiKeys.findByHash(old.hash))?.key.successorId).toBe(winner?.id)
    })

    withCustomer('a rotation whose successor cannot be inserted changes nothing', async ({ apiKeys }, one) => {
      const old = apiKey(one.id)
      await apiKeys.insert(old)
      await expect(apiKeys.rotate(old.id, apiKey(one.id, { hash: old.hash }), times)).rejects.toThrow()
      const found = await apiKeys.findByHash(old.hash)
      expect({ ...found?.key, hash: bytes(found?.key.hash) }).toEqual(old)
    })

    promise('a key of nobody is an error', async ({ apiKeys }) => {
      await expect(apiKeys.insert(apiKey('nobody'))).rejects.toThrow()
    })

    withCustomer('the account version changes with every account change, and with nothing else', async (store, one) => {
      const key = apiKey(one.id)
      const changesVersion = (work: () => Promise<unknown>) => versionChanges(store, work)
      expect(await changesVersion(() => store.apiKeys.insert(key))).toBe(true)
      const successor = apiKey(one.id)
      expect(await changesVersion(() => store.apiKeys.rotate(key.id, successor, { now: 0, endsAt: 9 }))).toBe(true)
      expect(await changesVersion(() => store.apiKeys.revoke(key.id, 1))).toBe(true)
      expect(await changesVersion(() => store.audit.append([auditEvent()]))).toBe(false)
      expect(await changesVersion(() => store.customers.insert(customer()))).toBe(true)
      expect(await changesVersion(() => store.customers.setPassword(one.id, 'x', 0))).toBe(true)
      expect(await changesVersion(() => store.customers.disable(one.id, 0))).toBe(true)
      expect(await changesVersion(() => store.customers.enable(one.id))).toBe(true)
      expect(await changesVersion(() => store.customers.revokeTokens(one.id, 0))).toBe(true)
      expect(await changesVersion(() => store.customers.addAuthority(one.id, ['x']))).toBe(true)
      expect(await changesVersion(() => store.customers.removeAuthority(one.id, ['x']))).toBe(true)
      const use = { keyId: key.id, usedAt: 1, address: '' }
      expect(await changesVersion(() => store.apiKeys.recordUses([use]))).toBe(false)
      expect(await changesVersion(() => store.deliveries.deliver(delivery(one.id)))).toBe(false)
    })
  })

  describe(`${name}: deliveries`, () => {
    withCustomer('a delivery is read back as it was stored, to the byte', async ({ deliveries }, one) => {
      const payload = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
      const sent = delivery(one.id, { orderId: 'ı/"\\ 漢', status: 3, payload })
      const receipt = { receiptId: sent.receiptId, orderId: sent.orderId, status: 3, receivedAt: sent.receivedAt }
      expect(await deliveries.deliver(sent)).toEqual({ ...receipt, duplicate: false })
      const stored = await deliveries.findByReceipt(sent.receiptId)
      expect(stored).toMatchObject({ ...receipt, customerId: one.id, duplicate: false })
      expect(bytes(stored?.payload)).toEqual(payload)
      expect(await deliveries.orderState(one.id, sent.orderId ?? '')).toEqual(receipt)
      expect(await deliveries.findByReceipt('00000000-0000-7000-8000-000000000000')).toBeUndefined()
      expect(await deliveries.findByReceipt('no receipt')).toBeUndefined()
      expect(await deliveries.orderState('nobody', sent.orderId ?? '')).toBeUndefined()
    })

    withCustomer('a delivery without an order has no state', async ({ deliveries }, one) => {
      const sent = delivery(one.id, { orderId: null })
      const again = delivery(one.id, { orderId: null, payload: sent.payload })
      expect([await deliveries.deliver(sent), await deliveries.deliver(again)]).toMatchObject([
        { orderId: null, duplicate: false },
        { orderId: null, duplicate: false },
      ])
    })

    withCustomer('many at once are all stored, in an order that positions tell', async ({ deliveries }, one) => {
      const sent = Array.from({ length: 300 }, (_, number) =>
        delivery(one.id, { orderId: 'busy', status: number % 4, payload: Buffer.alloc(number * 50, number) }),
      )
      await Promise.all(sent.map((each) => deliveries.deliver(each)))
      const history = await deliveries.history(one.id, 'busy')
      expect(history.map(({ receiptId }) => receiptId)).toEqual(sent.map(({ receiptId }) => receiptId).toReversed())
      const payloads = await deliveries.payloads(history.map(({ position }) => position))
      for (const [index, { position, payloadBytes }] of history.entries()) {
        const payload = bytes(sent[299 - index]?.payload)
        expect(Buffer.compare(bytes(payloads.get(position)), payload)).toBe(0)
        expect(payloadBytes).toBe(payload.length)
        expect(position).toBeLessThan(history[index - 1]?.position ?? Number.POSITIVE_INFINITY)
      }
      expect(await deliveries.orderState(one.id, 'busy')).toMatchObject({ receiptId: sent[299]?.receiptId, status: 3 })
    })

    withCustomer(
      'an echo is kept as a duplicate, also in the batch of what it repeats',
      async ({ deliveries }, one) => {
        const first = delivery(one.id, { orderId: 'echo' })
        const echoes = [1, 2].map(() => delivery(one.id, { orderId: 'echo', payload: first.payload, receivedAt: 9e12 }))
        const [receipt, ...repeated] = await Promise.all([first, ...echoes].map((each) => deliveries.deliver(each)))
        for (const one of repeated) expect(one).toEqual({ ...(receipt as object), duplicate: true })
        const history = await deliveries.history(one.id, 'echo')
        expect(history.map(({ receiptId, duplicate }) => [receiptId, duplicate])).toEqual([
          [echoes[1]?.receiptId, true],
          [echoes[0]?.receiptId, true],
          [first.receiptId, false],
        ])
        expect(await deliveries.orderState(one.id, 'echo')).toMatchObject({ receiptId: first.receiptId })
        const other = delivery(one.id, { orderId: 'echo', status: 2 })
        await deliveries.deliver(other)
        const back = delivery(one.id, { orderId: 'echo', payload: first.payload })
        expect(await deliveries.deliver(back)).toMatchObject({ receiptId: back.receiptId, duplicate: false })
      },
    )

    withCustomer('an idempotency key holds its receipt, until it is too old', async ({ deliveries }, one) => {
      const idempotency = { key: 'key', notBefore: 0 }
      const first = delivery(one.id, { idempotency, orderId: 'keyed' })
      const again = delivery(one.id, { idempotency, orderId: 'keyed', payload: first.payload })
      const [receipt, repeated] = await Promise.all([deliveries.deliver(first), deliveries.deliver(again)])
      expect(repeated).toEqual({ ...(receipt as object), duplicate: true })
      await expect(deliveries.deliver(delivery(one.id, { idempotency }))).rejects.toThrow(
        'came with another body before',
      )
      expect(await deliveries.history(one.id, 'keyed')).toHaveLength(1)
      const later = { key: 'key', notBefore: first.receivedAt + 1 }
      const fresh = delivery(one.id, { idempotency: later, receivedAt: first.receivedAt + 2 })
      expect(await deliveries.deliver(fresh)).toMatchObject({ receiptId: fresh.receiptId, duplicate: false })
      await expect(deliveries.deliver(delivery(one.id, { idempotency: later }))).rejects.toThrow('another body')
    })

    withCustomer('customers share neither orders nor idempotency keys', async (store, one) => {
      const other = customer()
      await store.customers.insert(other)
      const same = { orderId: 'same', payload: Buffer.from('{}'), idempotency: { key: 'same', notBefore: 0 } }
      for (const { id } of [one, other]) {
        expect(await store.deliveries.deliver(delivery(id, same))).toMatchObject({ duplicate: false })
      }
      await store.deliveries.deliver(delivery(other.id, { orderId: 'same', status: 0 }))
      expect(await store.deliveries.orderState(one.id, 'same')).toMatchObject({ status: 1 })
      expect(await store.deliveries.history(one.id, 'same')).toHaveLength(1)
    })
  })

  describe(`${name}: arrivals`, () => {
    const lastPosition = async ({ deliveries }: Store): Promise<number> => {
      for (let position = 0; ; ) {
        const next = await deliveries.arrivals(position)
        position = next.position
        if (!next.more) return position
      }
    }

    promise('who got deliveries after a position is told, each once', async (store) => {
      const [one, other] = [customer(), customer()]
      for (const each of [one, other]) await store.customers.insert(each)
      const start = await lastPosition(store)
      expect(await store.deliveries.arrivals(start)).toEqual({ position: start, customerIds: [], more: false })
      for (const { id } of [one, other, one]) await store.deliveries.deliver(delivery(id))
      const all = await store.deliveries.arrivals(start)
      expect({ ...all, customerIds: all.customerIds.toSorted() }).toEqual({
        position: start + 3,
        customerIds: [one.id, other.id].sort(),
        more: false,
      })
      expect(await store.deliveries.arrivals(start + 2)).toMatchObject({ customerIds: [one.id] })
    })

    promise('more than fit into one answer are said to be more', async (store) => {
      const one = customer()
      await store.customers.insert(one)
      const start = await lastPosition(store)
      await Promise.all(Array.from({ length: 1001 }, () => store.deliveries.deliver(delivery(one.id))))
      const first = await store.deliveries.arrivals(start)
      expect(first).toEqual({ position: start + 1000, customerIds: [one.id], more: true })
      expect(await store.deliveries.arrivals(first.position)).toMatchObject({ position: start + 1001, more: false })
    })

    promise('a commit is told to who watches, and no longer to who has stopped', async (store) => {
      const one = customer()
      await store.customers.insert(one)
      let told = Promise.withResolvers<void>()
      let tooOften = 0
      store.deliveries.watch(() => tooOften++)()
      const stop = store.deliveries.watch(() => told.resolve())
      for (let number = 0; number < 3; number++) {
        await store.deliveries.deliver(delivery(one.id))
        await told.promise
        told = Promise.withResolvers()
      }
      stop()
      expect(tooOften).toBe(0)
    })
  })

  describe(`${name}: signing keys`, () => {
    promise('the first key of an algorithm is kept, whoever comes at the same time', async ({ signingKeys }) => {
      const first = key()
      const rivals = [first, key({ algorithm: first.algorithm }), key({ algorithm: first.algorithm })]
      const kept = await Promise.all(rivals.map((candidate) => signingKeys.insertFirst(candidate)))
      expect(new Set(kept.map(({ kid }) => kid)).size).toBe(1)
      expect((await signingKeys.list()).filter(({ algorithm }) => algorithm === first.algorithm)).toEqual([kept[0]])
    })

    promise('another algorithm has a key of its own, and the newest comes first', async ({ signingKeys }) => {
      const [older, newer] = [key({ createdAt: 9e12 }), key({ createdAt: 9e12 + 1 })]
      expect(await signingKeys.insertFirst(older)).toEqual(older)
      expect(await signingKeys.insertFirst(newer)).toEqual(newer)
      expect((await signingKeys.list()).slice(0, 2)).toEqual([newer, older])
    })

    promise('of many rotations at once one is done, and the others leave nothing behind', async ({ signingKeys }) => {
      const old = key()
      await signingKeys.insertFirst(old)
      const rivals = Array.from({ length: 8 }, () => key({ algorithm: old.algorithm, createdAt: old.createdAt + 1 }))
      const done = await Promise.all(rivals.map((candidate) => signingKeys.rotate(candidate, old.kid, 9e14)))
      expect(done.filter(Boolean)).toEqual([true])
      const winner = rivals[done.indexOf(true)] as SigningKey
      const kept = (await signingKeys.list()).filter(({ algorithm }) => algorithm === old.algorithm)
      expect(kept).toEqual([winner, { ...old, expiresAt: 9e14 }])
      expect(await signingKeys.rotate(key({ algorithm: old.algorithm }), old.kid, 1)).toBe(false)
      expect(await signingKeys.rotate(key(), 'none', 1)).toBe(false)
      expect((await signingKeys.list()).filter(({ expiresAt }) => expiresAt === 1)).toEqual([])
      expect(await signingKeys.insertFirst(key({ algorithm: old.algorithm }))).toEqual(winner)
    })

    promise('a rotation ends keys of every algorithm, none of them later than before', async ({ signingKeys }) => {
      const [first, other] = [key(), key()]
      const [second, third] = [key({ algorithm: first.algorithm }), key({ algorithm: first.algorithm })]
      await signingKeys.insertFirst(other)
      await signingKeys.insertFirst(first)
      await signingKeys.rotate(second, first.kid, 9e14 + 5)
      await signingKeys.rotate(third, second.kid, 9e14 + 7)
      const ends = new Map((await signingKeys.list()).map(({ kid, expiresAt }) => [kid, expiresAt]))
      expect([first, other, second, third].map(({ kid }) => ends.get(kid))).toEqual([
        9e14 + 5,
        9e14 + 5,
        9e14 + 7,
        null,
      ])
      const next = key({ algorithm: other.algorithm })
      expect(await signingKeys.insertFirst(next)).toEqual(next)
    })

    promise('a key is removed once it has expired, and only then', async ({ signingKeys }) => {
      const [old, fresh] = [key({ createdAt: 1 }), key()]
      const candidate = { ...fresh, algorithm: old.algorithm }
      await signingKeys.insertFirst(old)
      await signingKeys.rotate(candidate, old.kid, 70)
      const kids = async () => (await signingKeys.list()).map(({ kid }) => kid)
      await signingKeys.removeExpired(69)
      expect(await kids()).toContain(old.kid)
      expect(await signingKeys.removeExpired(70)).toBeGreaterThan(0)
      expect(await signingKeys.removeExpired(70)).toBe(0)
      expect(await kids()).not.toContain(old.kid)
      expect(await kids()).toContain(fresh.kid)
    })

    promise('keys are rewrapped all or none', async ({ signingKeys }) => {
      const [one, other] = [key({ privateJwk: 'a' }), key({ privateJwk: 'b' })]
      await signingKeys.insertFirst(one)
      await signingKeys.insertFirst(other)
      const texts = async () => {
        const all = new Map((await signingKeys.list()).map(({ kid, privateJwk }) => [kid, privateJwk]))
        return [all.get(one.kid), all.get(other.kid)]
      }
      const change = (kid: string, from: string, to: string) => ({ kid, from, to })
      expect(await signingKeys.rewrap([change(one.kid, 'a', 'x'), change(other.kid, 'not b', 'y')])).toBe(false)
      expect(await signingKeys.rewrap([change(one.kid, 'a', 'x'), change('none', 'b', 'y')])).toBe(false)
      expect(await texts()).toEqual(['a', 'b'])
      const both = [change(one.kid, 'a', 'x'), change(other.kid, 'b', 'y')]
      const done = await Promise.all([1, 2, 3].map(() => signingKeys.rewrap(both)))
      expect(done.filter(Boolean)).toEqual([true])
      expect(await texts()).toEqual(['x', 'y'])
    })

    promise(
      'the account version changes with every signing key that is made, rotated, removed or rewrapped',
      async (store) => {
        const { signingKeys } = store
        const [old, fresh] = [key(), key()]
        const candidate = { ...fresh, algorithm: old.algorithm }
        const changesVersion = (work: () => Promise<unknown>) => versionChanges(store, work)
        expect(await changesVersion(() => signingKeys.insertFirst(old))).toBe(true)
        expect(await changesVersion(() => signingKeys.insertFirst(candidate))).toBe(false)
        expect(await changesVersion(() => signingKeys.rotate(candidate, old.kid, 80))).toBe(true)
        expect(await changesVersion(() => signingKeys.removeExpired(80))).toBe(true)
        expect(await changesVersion(() => signingKeys.removeExpired(80))).toBe(false)
        const rewrap = { kid: fresh.kid, from: fresh.privateJwk, to: 'z' }
        expect(await changesVersion(() => signingKeys.rewrap([rewrap]))).toBe(true)
        expect(await changesVersion(() => signingKeys.rewrap([rewrap]))).toBe(false)
      },
    )
  })

  describe(`${name}: audit log`, () => {
    promise('an event is read back as it was written', async ({ audit }) => {
      const full = auditEvent({
        address: '::1',
        requestId: 'r"\\{},',
        details: { text: 'ı"\\{}, \0 \ud800 NULL', rules: ['*', 'a'], none: null, count: 1.5 },
      })
      const bare = auditEvent({ customerId: full.customerId })
      await audit.append([full, bare])
      await audit.append([])
      expect(await audit.list({ customerId: full.customerId ?? '', limit: 9 })).toEqual([full, bare])
      const nobody = auditEvent({ customerId: null, at: 9e12 })
      await audit.append([nobody])
      expect(await audit.list({ from: 9e12, limit: 9 })).toEqual([nobody])
    })

    promise('the newest come last, and the limit leaves out the oldest', async ({ audit }) => {
      const one = auditEvent({ at: 100 })
      const more = [300, 200, 200].map((at, index) => ({ ...one, at, details: { index } }))
      await audit.append([one, ...more])
      const [late, early, later] = more
      expect(await audit.list({ customerId: one.customerId ?? '', limit: 9 })).toEqual([one, early, later, late])
      expect(await audit.list({ customerId: one.customerId ?? '', limit: 2 })).toEqual([later, late])
    })

    promise('filters are by customer, time, and how the action begins, to the letter', async ({ audit }) => {
      const one = auditEvent({ at: 100, action: 'a_b.c%' })
      const other = { ...one, at: 200, action: 'axb.c' }
      const stranger = auditEvent({ at: 150, action: 'a_b.c%' })
      await audit.append([one, other, stranger])
      const list = (more: object) => audit.list({ customerId: one.customerId ?? '', limit: 9, ...more })
      expect(await list({ action: 'a_b' })).toEqual([one])
      expect(await list({ action: 'a' })).toEqual([one, other])
      expect(await list({ action: 'A' })).toEqual([])
      expect(await list({ action: '%' })).toEqual([])
      expect(await list({ from: 100, to: 200 })).toEqual([one])
      expect(await list({ from: 101 })).toEqual([other])
      expect(await audit.list({ action: 'a_b.c%', limit: 9 })).toEqual([one, stranger])
      expect(await audit.list({ customerId: "' OR 1=1 --", limit: 9 })).toEqual([])
    })

    promise('the oldest are deleted first, so many at a time', async ({ audit }) => {
      await audit.deleteBefore(100, 1000)
      const one = auditEvent({ at: 3 })
      await audit.append([5, 1, 3, 2, 4].map((at) => ({ ...one, at })))
      const left = async () => (await audit.list({ customerId: one.customerId ?? '', limit: 9 })).map(({ at }) => at)
      expect([await audit.deleteBefore(5, 3), await left()]).toEqual([3, [4, 5]])
      expect([await audit.deleteBefore(5, 3), await left()]).toEqual([1, [5]])
      expect([await audit.deleteBefore(5, 3), await left()]).toEqual([0, [5]])
    })
  })

  describe(`${name}: login failures`, () => {
    const named = () => Buffer.from((++counter).toString(16).padStart(32, '0'), 'hex')
    const none = { forget: [], countDown: [], remember: [] }
    const NOW = 1_763_726_400_123

    promise('are counted under each name, and found until they expire', async ({ loginFailures }) => {
      const [one, other, third] = [named(), named(), named()]
      const expiresAt = NOW + 1000
      expect(await loginFailures.count([{ name: one, expiresAt }], NOW)).toEqual([1])
      const both = [other, one].map((name) => ({ name, expiresAt: expiresAt + 1 }))
      expect(await loginFailures.count(both, NOW + 1)).toEqual([1, 2])
      expect(await loginFailures.find([third, one, other], NOW + 1)).toEqual([
        undefined,
        { count: 2, lastAt: NOW + 1 },
        { count: 1, lastAt: NOW + 1 },
      ])
      expect(await loginFailures.find([one], expiresAt + 1)).toEqual([undefined])
      expect(await loginFailures.count([{ name: one, expiresAt: NOW + 9000 }], expiresAt + 1)).toEqual([1])
    })

    promise('that come at once are each counted', async ({ loginFailures }) => {
      const names = [named(), named(), named()]
      const counts = await Promise.all(
        Array.from({ length: 20 }, (_, n) => {
          const turned = n % 2 ? names : names.toReversed()
          return loginFailures.count(
            turned.map((name) => ({ name, expiresAt: NOW + 1000 })),
            NOW,
          )
        }),
      )
      const first = counts.map((each, n) => each[n % 2 ? 0 : 2] as number).toSorted((a, b) => a - b)
      expect(first).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
    })

    promise('are settled together: forgotten, counted down, remembered', async ({ loginFailures }) => {
      const [pair, address, account, known] = [named(), named(), named(), named()]
      const all = [pair, address, account].map((name) => ({ name, expiresAt: NOW + 9000 }))
      await loginFailures.count(all, NOW)
      await loginFailures.count(all, NOW + 5)
      await loginFailures.count([all[2] as (typeof all)[0]], NOW + 6)
      const countDown = [account, address].map((name) => ({ name, countedAt: NOW + 5, countedAs: 2, lastAt: NOW }))
      const remember = [{ name: known, expiresAt: NOW + 9000 }]
      await loginFailures.settle({ forget: [pair], countDown, remember }, NOW + 7)
      expect(await loginFailures.find([pair, address, account, known], NOW + 7)).toEqual([
        undefined,
        { count: 1, lastAt: NOW },
        { count: 2, lastAt: NOW + 6 },
        { count: 0, lastAt: NOW + 7 },
      ])
      // Counted as another one than it says: somebody else's failure stays the last.
      const others = { name: account, countedAt: NOW + 6, countedAs: 3, lastAt: NOW }
      await loginFailures.settle({ ...none, countDown: [others, ...countDown.slice(1)], remember }, NOW + 8)
      await loginFailures.settle({ ...none, countDown: countDown.slice(1) }, NOW + 8)
      expect(await loginFailures.find([account], NOW + 8)).toEqual([{ count: 1, lastAt: NOW + 6 }])
      expect(await loginFailures.find([address, known], NOW + 8)).toEqual([
        { count: 0, lastAt: NOW },
        { count: 0, lastAt: NOW + 8 },
      ])
    })

    promise('that have expired go, at most two rows for one that comes', async ({ loginFailures }) => {
      const old = Array.from({ length: 5 }, named)
      await loginFailures.count(
        old.map((name) => ({ name, expiresAt: 10 })),
        5,
      )
      const left = async () => (await loginFailures.find(old, 9)).filter((each) => each !== undefined).length
      for (const expected of [3, 1, 0]) {
        await loginFailures.count([{ name: named(), expiresAt: NOW }], 11)
        expect(await left()).toBe(expected)
      }
    })
  })

  describe(`${name}: health`, () => {
    promise('an open store answers', async (store) => {
      await expect(store.ping()).resolves.toBeUndefined()
    })
  })
}
