import { describe, expect } from 'vitest'
import { auditEvent } from '../../support/store-rows.ts'
import { type Open, promises } from './promises.ts'

export function describeAudit(name: string, open: Open): void {
  describe(`${name}: audit log`, () => {
    const { promise } = promises(open)

    promise('an event is read back as it was written', async ({ audit }) => {
      const full = auditEvent({
        address: '::1',
        requestId: 'r"\\{},',
        refusalId: '01a1fd40-d173-7140-8bbb-0000000000ff',
        orderId: 'ö"\\{}, -',
        keyId: 'k"',
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

    promise('filters are by order and by request', async ({ audit }) => {
      const one = auditEvent({ at: 100, orderId: 'PO-1', requestId: 'r-1' })
      const other = { ...one, at: 200, orderId: 'PO-2' }
      const bare = { ...one, at: 300, orderId: null, requestId: 'r-2' }
      await audit.append([one, other, bare])
      const list = (more: object) => audit.list({ customerId: one.customerId ?? '', limit: 9, ...more })
      expect(await list({ orderId: 'PO-2' })).toEqual([other])
      expect(await list({ orderId: 'po-2' })).toEqual([])
      expect(await list({ requestId: 'r-1' })).toEqual([one, other])
      expect(await list({ requestId: 'r-1', orderId: 'PO-1' })).toEqual([one])
      expect(await list({ requestId: 'r-2', orderId: 'PO-1' })).toEqual([])
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
}
