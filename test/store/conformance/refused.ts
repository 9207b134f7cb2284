import { describe, expect } from 'vitest'
import { message } from '#src/lib/messages/message.ts'
import { FREED_AT_ONCE, ROW_BYTES } from '#src/lib/refused-limits.ts'
import type { NewRefusedBody } from '#src/store/refused-store.ts'
import { apiKey, auditEvent, customer, nextNumber } from '../../support/store/store-rows.ts'
import { type Open, promises } from './promises.ts'

/** Later than that of any other test of this store, since the oldest bodies of all customers go first. */
const timeOf = (number: number): number => 1_800_000_000_000 + number

function refusalId(at: number, tail = nextNumber()): string {
  const digits = at.toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-${tail.toString(16).padStart(12, '0')}`
}

const MESSAGE = message('PRODUCTS_NOT_ALLOWED', { products: ['"ü\\{}', 'b'] })
const NEVER = { maxBytes: Number.MAX_SAFE_INTEGER, notKept: 0 }

export function describeRefused(name: string, open: Open): void {
  describe(`${name}: refused deliveries`, () => {
    const { promise } = promises(open)

    const body = (customerId: string, more: Partial<NewRefusedBody> = {}): NewRefusedBody => {
      const at = more.at ?? timeOf(nextNumber())
      return {
        refusalId: refusalId(at),
        at,
        customerId,
        keyId: 'no-key',
        orderId: null,
        errorCode: 'PRODUCT_NOT_AUTHORIZED',
        message: 'This API key may not deliver: ü.',
        requestId: 'r"\\{},',
        address: '::1',
        payload: Buffer.from([0, 255, 10, 34, 92]),
        ...more,
      }
    }

    promise('a body is read back as it was kept, with the label of its key', async (store) => {
      const one = customer()
      const key = apiKey(one.id)
      await store.customers.insert(one)
      await store.apiKeys.insert(key)
      const kept = body(one.id, { keyId: key.id, orderId: 'ö"\\{},', message: MESSAGE })
      const bare = body(one.id, { payload: new Uint8Array() })
      await store.refused.keep([kept, bare], NEVER)
      await store.refused.keep([kept], NEVER)
      const found = await store.refused.find(kept.refusalId)
      expect({ ...found, payload: Buffer.from(found?.payload ?? []) }).toEqual({ ...kept, keyLabel: key.label })
      expect(await store.refused.find(refusalId(1))).toBeUndefined()
      const { payload: _, ...rest } = kept
      const { payload: __, ...bareRest } = bare
      expect(await store.refused.list({ customerId: one.id, limit: 9 })).toEqual([
        { ...rest, keyLabel: key.label, payloadBytes: 5 },
        { ...bareRest, keyLabel: null, payloadBytes: 0 },
      ])
      expect(await store.refused.list({ customerId: one.id, orderId: 'ö"\\{},', limit: 9 })).toHaveLength(1)
      expect(await store.refused.list({ customerId: one.id, requestId: 'r', limit: 9 })).toEqual([])
      expect(await store.refused.list({ customerId: one.id, from: bare.at, limit: 9 })).toHaveLength(1)
      expect(await store.refused.list({ customerId: one.id, limit: 1 })).toMatchObject([{ at: bare.at }])
    })

    promise(
      'a customer sees its refusals newest first, in the log, with a body, or both, and no others',
      async (store) => {
        const [one, other] = [customer(), customer()]
        const key = apiKey(one.id)
        for (const each of [one, other]) await store.customers.insert(each)
        await store.apiKeys.insert(key)
        const recorded = (at: number, customerId = one.id, more = {}) =>
          auditEvent({
            at,
            action: 'delivery.refused',
            customerId,
            refusalId: refusalId(at),
            keyId: key.id,
            requestId: 'r-1',
            orderId: 'PO-1',
            details: { errorCode: 'BODY_NOT_JSON', reason: 'secret', message: MESSAGE },
            ...more,
          })
        const [old, young] = [recorded(100), recorded(300)]
        await store.audit.append([old, young, recorded(200, other.id), recorded(400, one.id, { refusalId: null })])
        const both = body(one.id, { at: 300, refusalId: young.refusalId ?? '', keyId: key.id, orderId: 'PO-1' })
        const only = body(one.id, { at: 350 })
        await store.refused.keep([both, only, body(other.id, { at: 360 })], NEVER)
        const page = (filter: object, most = 9, scan = most) =>
          store.refused.refusals({ customerId: one.id, ...filter }, { limit: most, scan })
        const list = async (filter: object, most = 9) => (await page(filter, most)).refusals
        const all = await list({})
        expect(all).toEqual([
          {
            refusalId: only.refusalId,
            at: 350,
            customerId: one.id,
            keyId: 'no-key',
            keyLabel: null,
            orderId: null,
            errorCode: only.errorCode,
            message: only.message,
            reason: null,
            requestId: only.requestId,
            address: '::1',
            payloadBytes: 5,
          },
          expect.objectContaining({ refusalId: both.refusalId, at: 300, errorCode: both.errorCode, payloadBytes: 5 }),
          {
            refusalId: old.refusalId,
            at: 100,
            customerId: one.id,
            keyId: key.id,
            keyLabel: key.label,
            orderId: 'PO-1',
            errorCode: 'BODY_NOT_JSON',
            message: MESSAGE,
            reason: 'secret',
            requestId: 'r-1',
            address: old.address,
            payloadBytes: null,
          },
        ])
        expect(await list({}, 2)).toEqual(all.slice(0, 2))
        expect(await list({ before: both.refusalId })).toEqual(all.slice(2))
        expect(await list({ from: 300, to: 350 })).toEqual(all.slice(1, 2))
        expect(await list({ from: 301 })).toEqual(all.slice(0, 1))
        expect(await list({ before: only.refusalId, to: 300 })).toEqual(all.slice(2))
        expect(await list({ customerId: "' OR 1=1 --" })).toEqual([])
        expect(await list({ orderId: 'PO-1' })).toEqual(all.slice(1))
        expect(await list({ errorCode: 'BODY_NOT_JSON' })).toEqual(all.slice(2))
        expect(await list({ errorCode: only.errorCode, requestId: only.requestId })).toEqual(all.slice(0, 1))
        expect(await list({ errorCode: 'BODY' })).toEqual([])
        expect(await list({ errorCode: 'secret' })).toEqual([])
        expect(await list({ requestId: 'r-1' })).toEqual(all.slice(1))
        expect(await list({ idPrefix: both.refusalId })).toEqual(all.slice(1, 2))
        expect(await list({ idPrefix: both.refusalId.slice(0, 13) })).toEqual(all.slice(1, 2))
        expect(await list({ idPrefix: both.refusalId.slice(0, 13), to: 300 })).toEqual([])
        expect(await list({ idPrefix: 'f0' })).toEqual([])
        expect(await page({}, 2)).toEqual({ refusals: all.slice(0, 2), next: both.refusalId })
        expect(await page({}, 3)).toEqual({ refusals: all, next: null })
        const filter = { errorCode: 'BODY_NOT_JSON' }
        expect(await page(filter, 9, 2)).toEqual({ refusals: [], next: both.refusalId })
        expect(await page({ ...filter, before: both.refusalId }, 9, 2)).toEqual({
          refusals: all.slice(2),
          next: null,
        })
        expect(await page({ requestId: 'r-1' }, 1, 3)).toEqual({ refusals: all.slice(1, 2), next: both.refusalId })
        expect(await page({ requestId: 'r-1' }, 2, 2)).toEqual({ refusals: all.slice(1, 2), next: both.refusalId })
      },
    )

    promise(
      'refusals of all customers come together, with those that have no customer, and none twice',
      async (store) => {
        const [one, other] = [customer(), customer()]
        for (const each of [one, other]) await store.customers.insert(each)
        // Later than those of any other test.
        const at = 2 * timeOf(0)
        const recorded = (customerId: string | null, n: number, more = {}) =>
          auditEvent({
            at: at + n,
            action: 'delivery.refused',
            customerId,
            refusalId: refusalId(at + n),
            details: { errorCode: customerId === null ? 'API_KEY_INVALID' : 'BODY_NOT_JSON', reason: '"\ud800\0' },
            ...more,
          })
        const [first, second] = [recorded(one.id, 1), recorded(null, 2)]
        const [third, fourth] = [recorded(other.id, 3), recorded(null, 4)]
        await store.audit.append([
          first,
          second,
          third,
          fourth,
          recorded(null, 5, { refusalId: null, action: 'login.refused' }),
        ])
        const both = body(other.id, { at: at + 3, refusalId: third.refusalId ?? '' })
        const only = body(one.id, { at: at + 6 })
        await store.refused.keep([both, only], NEVER)
        const ids = async (filter: object, most = 9, scan = most) => {
          const { refusals, next } = await store.refused.refusals({ from: at, ...filter }, { limit: most, scan })
          return [refusals.map(({ refusalId, customerId }) => [refusalId, customerId]), next]
        }
        const all = [
          [only.refusalId, one.id],
          [fourth.refusalId, null],
          [both.refusalId, other.id],
          [second.refusalId, null],
          [first.refusalId, one.id],
        ]
        expect(await ids({})).toEqual([all, null])
        expect(await ids({}, 2)).toEqual([all.slice(0, 2), fourth.refusalId])
        expect(await ids({ before: fourth.refusalId ?? '' }, 2)).toEqual([all.slice(2, 4), second.refusalId])
        expect(await ids({ errorCode: 'API_KEY_INVALID' })).toEqual([[all[1], all[3]], null])
        expect(await ids({ errorCode: 'API_KEY_INVALID' }, 9, 1)).toEqual([[], only.refusalId])
        expect(await ids({ errorCode: 'PRODUCT_NOT_AUTHORIZED' })).toEqual([[all[0], all[2]], null])
        expect(await ids({ customerId: other.id })).toEqual([[all[2]], null])
      },
    )

    promise('refusals of an order are found with its customer and without, and no others', async (store) => {
      const [one, other] = [customer(), customer()]
      for (const each of [one, other]) await store.customers.insert(each)
      const at = timeOf(-1000)
      const [orderId, dashes] = [`PO-${nextNumber()}`, '---']
      const logged = (n: number, customerId: string, order: string | null = orderId) =>
        auditEvent({
          at: at + n,
          action: 'delivery.refused',
          customerId,
          refusalId: refusalId(at + n),
          orderId: order,
          details: { errorCode: n % 2 === 0 ? 'EVEN' : 'ODD' },
        })
      const events = [
        logged(1, one.id),
        logged(2, one.id, `${orderId}0`),
        logged(3, other.id),
        logged(4, one.id, null),
        logged(5, one.id),
        logged(6, other.id, dashes),
      ]
      await store.audit.append([...events, auditEvent({ customerId: one.id, orderId, refusalId: null })])
      const [first, , theirs, , both] = events.map((event) => event.refusalId ?? '') as [
        string,
        string,
        string,
        string,
        string,
      ]
      const only = body(one.id, { at: at + 7, orderId })
      await store.refused.keep([body(one.id, { at: at + 5, refusalId: both, orderId }), only], NEVER)
      const ids = async (filter: object, limit = 9, scan = limit) => {
        const { refusals, next } = await store.refused.refusals({ orderId, ...filter }, { limit, scan })
        return [refusals.map((each) => each.refusalId), next]
      }
      expect(await ids({})).toEqual([[only.refusalId, both, theirs, first], null])
      expect(await ids({ customerId: one.id })).toEqual([[only.refusalId, both, first], null])
      expect(await ids({ customerId: other.id })).toEqual([[theirs], null])
      expect(await ids({ customerId: 'nobody' })).toEqual([[], null])
      expect(await ids({}, 2)).toEqual([[only.refusalId, both], both])
      expect(await ids({ before: both }, 2)).toEqual([[theirs, first], null])
      expect(await ids({ customerId: one.id, before: both }, 1)).toEqual([[first], null])
      expect(await ids({ from: at + 3, to: at + 6 })).toEqual([[both, theirs], null])
      expect(await ids({ errorCode: 'ODD' }, 1, 9)).toEqual([[theirs], theirs])
      expect(await ids({ errorCode: 'EVEN', customerId: one.id })).toEqual([[], null])
      expect(await ids({ orderId: 'po-1' })).toEqual([[], null])
      await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: true })
      while (await store.refused.erase(one.id, 2));
      expect(await ids({})).toEqual([[theirs], null])
      expect(await ids({ orderId: dashes, customerId: one.id })).toEqual([[], null])
    })

    promise('the oldest bodies go when there is no room, and are counted', async (store) => {
      const one = customer()
      await store.customers.insert(one)
      const before = await store.refused.tally()
      const bodies = Array.from({ length: 5 }, () => body(one.id, { payload: Buffer.alloc(1000, 120) }))
      const each = 1000 + ROW_BYTES
      const left = async () =>
        (await store.refused.list({ customerId: one.id, limit: 9 })).map((kept) => kept.refusalId)
      const ids = bodies.map((kept) => kept.refusalId)
      expect(await store.refused.keep(bodies, { ...NEVER, notKept: 3 })).toBe(0)
      const full = await store.refused.tally()
      expect(full).toEqual({
        bodies: before.bodies + 5,
        bytes: before.bytes + 5 * each,
        removed: before.removed,
        notKept: before.notKept + 3,
      })
      // Whatever other tests left is older.
      const [next] = [body(one.id, { payload: Buffer.alloc(1000, 120) })]
      expect(await store.refused.keep([next], { maxBytes: 4 * each + 1, notKept: 0 })).toBe(before.bodies + 2)
      expect(await left()).toEqual([...ids.slice(2), next.refusalId])
      expect(await store.refused.tally()).toEqual({
        bodies: 4,
        bytes: 4 * each,
        removed: before.removed + before.bodies + 2,
        notKept: before.notKept + 3,
      })
      expect(await store.refused.keep([], { maxBytes: 4 * each, notKept: 2 })).toBe(0)
      expect(await store.refused.keep([], { maxBytes: 0, notKept: 0 })).toBe(4)
      expect(await store.refused.tally()).toMatchObject({ bodies: 0, bytes: 0, notKept: before.notKept + 5 })
    })

    promise('the first that came go first, also after a time whose clock was years ahead', async (store) => {
      const one = customer()
      await store.customers.insert(one)
      await store.refused.keep([], { maxBytes: 0, notKept: 0 })
      const each = 5 + ROW_BYTES
      const ahead = [0, 1].map((number) => body(one.id, { at: timeOf(number) + 300_000_000_000 }))
      await store.refused.keep(ahead, NEVER)
      const now = [2, 3, 4].map((number) => body(one.id, { at: timeOf(number) }))
      const removed = []
      for (const next of now) removed.push(await store.refused.keep([next], { maxBytes: 2 * each, notKept: 0 }))
      const left = await store.refused.list({ customerId: one.id, limit: 9 })
      expect([removed, left.map(({ at }) => at)]).toEqual([
        [1, 1, 1],
        [timeOf(3), timeOf(4)],
      ])
    })

    promise('if the limit was lowered, each write removes a part of what is too much', async (store) => {
      const one = customer()
      await store.customers.insert(one)
      await store.refused.keep([], { maxBytes: 0, notKept: 0 })
      const large = () => body(one.id, { payload: Buffer.alloc(FREED_AT_ONCE / 2, 120) })
      await store.refused.keep([large(), large(), large(), large(), large()], NEVER)
      const lowered = { maxBytes: FREED_AT_ONCE / 2 + ROW_BYTES, notKept: 0 }
      const removed = [await store.refused.keep([], lowered), await store.refused.keep([large()], lowered)]
      for (let write = 0; write < 2; write++) removed.push(await store.refused.keep([], lowered))
      expect(removed).toEqual([2, 3, 0, 0])
    })

    promise('the oldest expire first, so many at a time, and are not counted as removed', async (store) => {
      const one = customer()
      await store.customers.insert(one)
      await store.refused.deleteBefore(timeOf(0), 1000)
      const { bytes, bodies, removed } = await store.refused.tally()
      await store.refused.keep(
        [5, 1, 3, 2, 4].map((at) => body(one.id, { at })),
        NEVER,
      )
      const left = async () => (await store.refused.list({ customerId: one.id, limit: 9 })).map(({ at }) => at)
      expect([await store.refused.deleteBefore(5, 3), await left()]).toEqual([3, [4, 5]])
      expect([await store.refused.deleteBefore(5, 3), await left()]).toEqual([1, [5]])
      expect([await store.refused.deleteBefore(5, 3), await left()]).toEqual([0, [5]])
      expect(await store.refused.deleteBefore(6, 3)).toBe(1)
      expect(await store.refused.tally()).toMatchObject({ bytes, bodies, removed })
    })

    promise(
      'an erased customer loses its bodies, its order ids and its request ids, and gets no new ones; others keep theirs',
      async (store) => {
        const [one, other] = [customer(), customer()]
        for (const each of [one, other]) await store.customers.insert(each)
        const refused = { actor: 'api', requestId: 'r-refused' }
        const event = (customerId: string) =>
          auditEvent({
            ...refused,
            action: 'delivery.refused',
            customerId,
            refusalId: refusalId(timeOf(1)),
            orderId: 'PO-1',
          })
        const events = Array.from({ length: 5 }, () => event(one.id))
        const login = (customerId: string) => auditEvent({ ...refused, action: 'login.refused', customerId })
        const byOperator = auditEvent({ actor: 'console:o@b.co', customerId: one.id, requestId: 'r-operator' })
        await store.audit.append([...events, event(other.id), login(one.id), login(other.id), byOperator])
        await store.refused.keep([...events.map(() => body(one.id)), body(other.id)], NEVER)
        const before = await store.refused.tally()
        await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: true })
        let rounds = 1
        while (await store.refused.erase(one.id, 2)) rounds++
        expect(rounds).toBe(4)
        await store.audit.append([event(one.id), login(one.id), byOperator])
        await store.refused.keep([body(one.id)], NEVER)
        expect(await store.refused.list({ customerId: one.id, limit: 9 })).toEqual([])
        expect(await store.refused.list({ customerId: other.id, limit: 9 })).toHaveLength(1)
        const named = async (customerId: string) =>
          (await store.audit.list({ customerId, limit: 99 })).flatMap(({ orderId }) => orderId ?? [])
        const requests = async (customerId: string) =>
          (await store.audit.list({ customerId, limit: 99 })).flatMap(({ requestId }) => requestId ?? [])
        expect(await named(one.id)).toEqual([])
        expect(await requests(one.id)).toEqual(['r-operator', 'r-operator'])
        expect(await requests(other.id)).toEqual(['r-refused', 'r-refused'])
        const found = await store.audit.list({ requestId: 'r-refused', limit: 99 })
        expect(found.map(({ customerId }) => customerId)).toEqual([other.id, other.id])
        const { refusals } = await store.refused.refusals({ customerId: one.id }, { limit: 9, scan: 9 })
        expect(refusals.map(({ orderId, requestId }) => [orderId, requestId])).toEqual(new Array(6).fill([null, null]))
        expect(await named(other.id)).toEqual(['PO-1'])
        const after = await store.refused.tally()
        const bodiesOf = () => store.refused.list({ limit: 1000 })
        const [bodies, log] = [await bodiesOf(), await store.audit.list({ limit: 1000 })]
        for (let wiped: number | null = 0; wiped !== null; ) wiped = await store.refused.wipePages(wiped)
        expect(await bodiesOf()).toEqual(bodies)
        expect(await store.audit.list({ limit: 1000 })).toEqual(log)
        expect([before.bodies - after.bodies, before.bytes - after.bytes]).toEqual([5, 5 * (5 + ROW_BYTES)])
      },
    )
  })
}
