import { customerAskedFor, OPERATOR } from '#src/customer/find-customer.ts'
import { AppError } from '#src/lib/app-error.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import { NOT_LISTED } from '#src/lib/refused-limits.ts'
import { isStorable } from '#src/lib/text.ts'
import type { CustomerStore, DeliverySummary, Refusal, RefusalFilter, RefusedStore } from '#src/store/store.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import type { OrderDetail, ReadBack } from './orders.rule.ts'

export interface OrderTimelineDependencies {
  readonly readBack: Pick<ReadBack, 'detail'>
  readonly refused: Pick<RefusedStore, 'refusals'>
  readonly customers: CustomerStore
}

/** Everything that is known of an order, oldest first. */
export interface OrderTimeline {
  readonly customerId: string
  /** Undefined if no delivery was accepted. */
  readonly state: OrderDetail['state'] | undefined
  readonly deliveries: readonly DeliverySummary[]
  readonly refusals: readonly Refusal[]
  /** Other customers whose deliveries of an order with this id were refused. */
  readonly others: readonly string[]
  readonly notListed: NotListed | undefined
}

/** Refusals of the customer that were only counted. Nobody knows whether the order was among them. */
export interface NotListed {
  readonly count: number
  /** Milliseconds since 1970: when the first and the last of these counts were written. */
  readonly from: number
  readonly to: number
}

const AT_ONCE = 500
const SCANNED_AT_ONCE = 2_500

/** Finds the deliveries and refusals of an order for operators, also if all of them are refusals. `who` names its customer. */
export const createOrderTimeline = ({ readBack, refused, customers }: OrderTimelineDependencies) => {
  async function detail(orderId: string, customer: string | undefined) {
    const pages: OrderDetail[] = []
    for (let cursor: string | null | undefined; cursor !== null; cursor = pages.at(-1)?.nextCursor ?? null)
      pages.push(await readBack.detail(OPERATOR, orderId, { customer, cursor, limit: AT_ONCE, withPayloads: false }))
    return { state: pages[0]?.state, deliveries: pages.flatMap(({ history }) => history).reverse() }
  }

  async function refusalsOf(filter: RefusalFilter): Promise<Refusal[]> {
    const found: Refusal[] = []
    for (let before: string | null | undefined; before !== null; ) {
      const page = await refused.refusals({ ...filter, before }, { limit: AT_ONCE, scan: SCANNED_AT_ONCE })
      found.push(...page.refusals)
      before = page.next
    }
    return found.reverse()
  }

  /** Looks a day around what is known of the order. */
  async function notListedOf(customerId: string, times: readonly number[]): Promise<NotListed | undefined> {
    const from = times.reduce((least, time) => Math.min(least, time)) - DAY_MILLISECONDS
    const to = times.reduce((most, time) => Math.max(most, time)) + DAY_MILLISECONDS
    const counts = await refusalsOf({ customerId, errorCode: NOT_LISTED, from, to })
    const [first, last] = [counts[0], counts.at(-1)]
    if (first === undefined || last === undefined) return undefined
    return { count: counts.reduce((sum, each) => sum + countIn(each), 0), from: first.at, to: last.at }
  }

  return async (orderId: string, who: string | undefined): Promise<OrderTimeline> => {
    if (!isStorable(orderId)) throw new AppError(purchaseErrors.orderNotFound)
    const asked = await customerAskedFor(OPERATOR, who, customers)
    const { state, deliveries } = await detail(orderId, asked).catch(noneAccepted)
    const all = await refusalsOf({ customerId: asked, orderId })
    const customerId = state?.customerId ?? onlyCustomerOf(all)
    const refusals = all.filter((each) => each.customerId === customerId)
    const others = all.flatMap((each) => (each.customerId === customerId ? [] : (each.customerId ?? [])))
    const times = [...deliveries.map(({ receivedAt }) => receivedAt), ...refusals.map(({ at }) => at)]
    const notListed = await notListedOf(customerId, times)
    return { customerId, state, deliveries, refusals, others: [...new Set(others)], notListed }
  }
}

function noneAccepted(error: unknown): { state: undefined; deliveries: [] } {
  if (error instanceof AppError && error.code === purchaseErrors.orderNotFound.code)
    return { state: undefined, deliveries: [] }
  throw error
}

/** A body is read once its key is accepted, so whatever has an order id has a customer. */
function onlyCustomerOf(refusals: readonly Refusal[]): string {
  const [one, other] = new Set(refusals.map(({ customerId }) => customerId))
  if (other !== undefined) throw new AppError(purchaseErrors.orderAmbiguous)
  if (!one) throw new AppError(purchaseErrors.orderNotFound)
  return one
}

const countIn = ({ message }: Refusal): number => (typeof message === 'string' ? 0 : Number(message.values.count))

/** Deliveries and refusals as one list. Deliveries keep the order of their commits, whatever the clocks said. */
export function entriesOf({ deliveries, refusals }: OrderTimeline): (DeliverySummary | Refusal)[] {
  const entries: (DeliverySummary | Refusal)[] = []
  const waiting = refusals.toReversed()
  for (const delivery of deliveries) {
    while ((waiting.at(-1)?.at ?? Number.POSITIVE_INFINITY) < delivery.receivedAt)
      entries.push(waiting.pop() as Refusal)
    entries.push(delivery)
  }
  return [...entries, ...waiting.reverse()]
}
