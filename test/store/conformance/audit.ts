import fc from 'fast-check'
import { describe, expect } from 'vitest'
import type { AuditEvent, AuditFilter, AuditPlace, AuditStore } from '#src/store/store.ts'
import { runs } from '../../support/random-runs.ts'
import { auditEvent } from '../../support/store/store-rows.ts'
import { type Open, promises } from './promises.ts'

async function walk(audit: AuditStore, filter: AuditFilter, most: number, scan: number) {
  const pages: AuditEvent[][] = []
  for (let place: AuditPlace | null = null; ; ) {
    const page = await audit.before(place, filter, { limit: most, scan })
    expect(page.events.length).toBeLessThanOrEqual(most)
    pages.push(page.events)
    if (page.next === null) return pages
    place = page.next
  }
}

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
      await audit.prove([nobody, bare])
      expect(await audit.list({ from: 9e12, limit: 9 })).toEqual([])
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

    promise(
      'filters are by API key: the one that was sent, issued, changed, or came from a rotation',
      async ({ audit }) => {
        const key = 'k-"\\1'
        const one = auditEvent({ at: 100, keyId: key })
        const { customerId } = one
        const issued = auditEvent({ at: 200, customerId, details: { keyId: key, expiresAt: null } })
        const rotated = auditEvent({ at: 300, customerId, details: { keyId: 'old', newKeyId: key } })
        const bare = auditEvent({
          at: 400,
          customerId,
          details: { reason: `"keyId":${JSON.stringify(key)}`, other: key },
        })
        await audit.append([one, issued, rotated, bare])
        const filter = { customerId: customerId ?? '', keyId: key }
        expect(await audit.list({ ...filter, limit: 9 })).toEqual([one, issued, rotated])
        expect(await audit.list({ ...filter, keyId: 'old', limit: 9 })).toEqual([rotated])
        expect(await audit.list({ ...filter, keyId: 'ol', limit: 9 })).toEqual([])
        expect(await walk(audit, filter, 2, 3)).toEqual([[rotated, issued], [one]])
      },
    )

    promise('pages go back in bounded steps, also through events of one instant', async ({ audit }) => {
      const at = 7e12
      const one = auditEvent({ at })
      const { customerId } = one
      const all = [0, 0, 0, 1, 1, 2].map((later, index) => ({
        ...one,
        at: at + later,
        action: index % 2 === 0 ? 'even.x' : 'odd.x',
        requestId: `r-${index % 3}`,
        details: { index },
      }))
      await audit.append(all)
      const newest = all.toReversed()
      const filter = { from: at, to: at + 3 }
      expect(await walk(audit, { customerId: customerId ?? '' }, 2, 1)).toEqual([
        newest.slice(0, 2),
        newest.slice(2, 4),
        newest.slice(4),
      ])
      expect(await walk(audit, filter, 6, 1)).toEqual([newest])
      expect(await walk(audit, { ...filter, action: 'odd' }, 1, 2)).toEqual([[all[5]], [all[3]], [all[1]]])
      expect(await walk(audit, { ...filter, action: 'odd' }, 9, 5)).toEqual([[all[5], all[3], all[1]], []])
      expect(await walk(audit, { ...filter, requestId: 'r-1' }, 9, 1)).toEqual([[all[4], all[1]]])
      expect(await walk(audit, { ...filter, to: at + 1 }, 2, 9)).toEqual([[all[2], all[1]], [all[0]]])
    })

    promise('pages agree with a plain model, whatever is asked', async ({ audit }) => {
      const event = fc.record({
        later: fc.nat(3),
        who: fc.nat(1),
        action: fc.constantFrom('a.b', 'a.c', 'b'),
        n: fc.nat(2),
      })
      const asked = fc.record(
        {
          who: fc.nat(1),
          action: fc.constantFrom('a', 'a.c', 'b', ''),
          orderId: fc.nat(2),
          requestId: fc.nat(2),
          keyId: fc.nat(2),
          from: fc.nat(3),
          to: fc.nat(3),
        },
        { requiredKeys: [] },
      )
      let run = 0
      await fc.assert(
        fc.asyncProperty(
          fc.array(event, { maxLength: 12 }),
          asked,
          fc.integer({ min: 1, max: 4 }),
          fc.integer({ min: 1, max: 4 }),
          async (events, { who, action, orderId, requestId, keyId, from = 0, to = 4 }, most, look) => {
            const start = 6e12 + 10 * ++run
            const text = (name: string, n: number | undefined) => (n === undefined ? undefined : `${name}-${run}-${n}`)
            const all = events.map(({ later, who, action, n }) =>
              auditEvent({
                at: start + later,
                action,
                customerId: text('c', who) ?? null,
                orderId: text('o', n) ?? null,
                requestId: text('r', n) ?? null,
                keyId: text('k', n) ?? null,
              }),
            )
            await audit.append(all)
            const filter = {
              customerId: text('c', who),
              action,
              orderId: text('o', orderId),
              requestId: text('r', requestId),
              keyId: text('k', keyId),
              from: start + from,
              to: start + to,
            }
            const expected = all
              .toReversed()
              .toSorted((one, other) => other.at - one.at)
              .filter(
                (each) =>
                  [undefined, each.customerId].includes(filter.customerId) &&
                  each.action.startsWith(action ?? '') &&
                  [undefined, each.orderId].includes(filter.orderId) &&
                  [undefined, each.requestId].includes(filter.requestId) &&
                  [undefined, each.keyId].includes(filter.keyId) &&
                  each.at >= filter.from &&
                  each.at < filter.to,
              )
            expect((await walk(audit, filter, most, look)).flat()).toEqual(expected)
            expect(await audit.list({ ...filter, limit: 99 })).toEqual(expected.toReversed())
          },
        ),
        { numRuns: runs(30) },
      )
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
