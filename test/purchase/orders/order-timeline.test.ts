import { expect, it } from 'vitest'
import { AppError } from '#src/lib/app-error.ts'
import { message } from '#src/lib/messages/message.ts'
import { createOrderTimeline } from '#src/purchase/orders/order-timeline.ts'
import type { OrderDetail, ReadBack } from '#src/purchase/orders/orders.rule.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import type { Refusal, RefusalFilter } from '#src/store/store.ts'
import { testApp } from '../../support/app/test-app.ts'

const HOUR = 3_600_000

const refusalAt = (at: number, more: Partial<Refusal> = {}): Refusal => ({
  refusalId: `r-${at}`,
  at,
  customerId: 'c',
  keyId: 'k',
  keyLabel: null,
  orderId: 'PO-1',
  errorCode: 'PRODUCT_NOT_AUTHORIZED',
  message: '',
  reason: null,
  requestId: null,
  address: null,
  payloadBytes: null,
  ...more,
})

/** A store with `pages` full pages of refusals for each query, the newest first. */
async function timelineOver(
  pages: number,
  made: (filter: RefusalFilter, at: number) => Refusal,
  detail: ReadBack['detail'] = () => Promise.reject(new AppError(purchaseErrors.orderNotFound)),
) {
  const { store } = await testApp()
  const steps: number[] = []
  const timeline = createOrderTimeline({
    readBack: { detail },
    refused: {
      refusals: async (filter, { limit }) => {
        const page = Number(filter.before ?? 0)
        const newest = 1_000_000 * HOUR - page * limit
        const refusals = Array.from({ length: limit }, (_, place) => made(filter, newest - place))
        return { refusals, next: page + 1 < pages ? String(page + 1) : null }
      },
    },
    customers: store.customers,
  })
  return { steps, show: () => timeline('PO-1', undefined, (step) => steps.push(step)) }
}

const counts = (count: number) => message('REFUSALS_NOT_LISTED', { count, codes: [] })

it('of an order with very many refusals, the newest are kept, and reading ends', async () => {
  const { steps, show } = await timelineOver(100, ({ errorCode }, at) =>
    refusalAt(at, errorCode === undefined ? {} : { errorCode, message: counts(2) }),
  )
  const found = await show()
  expect(found.refusals).toHaveLength(1000)
  expect(found.refusals.at(-1)?.at).toBe(1_000_000 * HOUR)
  expect(found.refusals[0]?.at).toBe(1_000_000 * HOUR - 999)
  expect(found.earlier).toEqual({ count: 9000, isMore: true })
  expect(found.notListed).toMatchObject({ count: 20_000, isMore: true })
  expect(steps).toEqual(Array.from({ length: 40 }, (_, read) => read + 1))
})

it('few refusals are all there, and those that were only counted are all counted', async () => {
  const { show } = await timelineOver(2, ({ errorCode }, at) =>
    refusalAt(at, errorCode === undefined ? {} : { errorCode, message: 'Of the last', notRecorded: 3 }),
  )
  const found = await show()
  expect(found.refusals).toHaveLength(1000)
  expect(found.earlier).toBeUndefined()
  expect(found.notListed).toMatchObject({ count: 3000, isMore: false })
})

it('refusals of others who name the order take no place from those of its customer', async () => {
  const state = { customerId: 'c' } as OrderDetail['state']
  const { show } = await timelineOver(
    100,
    ({ customerId = 'd' }, at) => refusalAt(at, { customerId }),
    async () => ({ state, history: [], nextCursor: null }),
  )
  const { customerId, refusals, others } = await show()
  expect(new Set(refusals.map((each) => each.customerId))).toEqual(new Set(['c']))
  expect([customerId, others]).toEqual(['c', ['d']])
  expect(refusals).toHaveLength(1000)
})

it('nothing is said of refusals that were only counted where nobody knows how many', async () => {
  const { show } = await timelineOver(1, (_, at) => refusalAt(at, { message: 'a message that was cut' }))
  expect((await show()).notListed).toBeUndefined()
})
