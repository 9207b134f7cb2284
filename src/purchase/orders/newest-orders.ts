import { AppError } from '#src/lib/app-error.ts'
import type { DeliverySummary, Filter, Order } from '#src/store/store.ts'
import type { createProductFilter } from '../payload-limits.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import type { Reads } from '../reads.ts'

interface NewestQuery {
  readonly filter: Omit<Filter, 'orderId'>
  readonly product: string | undefined
  readonly cursor: string | undefined
  readonly limit: number
}

/** Where to continue, the position of the last delivery when paging began, and the generation of the latest purge then. */
type NewestPlace = readonly [before: number, at: number, generation: number]

/** Deliveries that one request scans. */
const MAX_SCANNED = 250

/**
 * Lists orders by the delivery that made their state, newest first, as they were when paging began. It walks back through the
 * deliveries, so it needs no index by state, and no order that changes meanwhile leaves its place.
 */
export function createNewestOrders(
  { deliveries, purges, cursors }: Reads,
  withProduct: ReturnType<typeof createProductFilter>,
) {
  const begin = async (): Promise<NewestPlace> => {
    const { generation } = await purges.state()
    const at = await deliveries.lastPosition()
    return [at + 1, at, generation]
  }

  return async ({ filter, product, cursor, limit }: NewestQuery) => {
    const { customerId, status, from, to } = filter
    const purpose = ['newest', customerId, status, product, from, to]
    const place = cursor === undefined ? await begin() : await cursors.open<NewestPlace>(purpose, cursor)
    const [before, at, generation] = place
    const { early, end } = await deliveries.positionsWithin({ from, to })
    const filtered = [status, product, from, to].some((value) => value !== undefined)
    const scan = filtered ? MAX_SCANNED : Math.min(MAX_SCANNED, 3 * limit)
    const page = await deliveries.before(Math.min(before, end + 1), filter, { limit: scan, scan })
    const candidates = page.deliveries.filter(({ orderId, duplicate }) => orderId !== null && !duplicate)
    const states = await deliveries.statesAt(positionsOf(candidates), at)
    // The purge may have removed what an order that has changed since was when paging began.
    if (states === undefined || (await purges.state()).generation !== generation) throw beginAgain()
    const made = new Set(states)
    const orders = candidates.filter(({ position }) => made.has(position)).map(orderOf)
    const shown = product === undefined ? upTo(limit, orders) : await withProduct(orders, product, limit)
    const next = shown.last?.position ?? page.position
    const nextCursor = next <= early ? null : await cursors.seal(purpose, [next, at, generation])
    return { orders: shown.found, nextCursor }
  }
}

const beginAgain = (): AppError =>
  new AppError(purchaseErrors.cursorPurged, {
    message:
      'Since this list began, deliveries were removed because of their age, or an order has had too many new ones: begin again without a cursor.',
  })

const positionsOf = (all: readonly DeliverySummary[]): number[] => all.map(({ position }) => position)

const upTo = (limit: number, orders: readonly Order[]) => ({
  found: orders.slice(0, limit),
  last: orders.length > limit ? orders[limit - 1] : undefined,
})

const orderOf = (delivery: DeliverySummary): Order => {
  const { customerId, orderId, status, receiptId, receivedAt, position, payloadBytes } = delivery
  return { customerId, orderId: orderId ?? '', status, receiptId, receivedAt, position, payloadBytes }
}
