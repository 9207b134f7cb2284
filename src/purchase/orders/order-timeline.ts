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
export type OrderTimeline = Awaited<ReturnType<ReturnType<typeof createOrderTimeline>>>

export interface Count {
  readonly count: number
  /** There may be more: reading ended before. */
  readonly isMore: boolean
}

/** Refusals of the customer that were only counted. Nobody knows whether the order was among them. */
export interface NotListed extends Count {
  /** Milliseconds since 1970: when the first and the last of these counts were written. */
  readonly from: number
  readonly to: number
}

const AT_ONCE = 500
const SCANNED_AT_ONCE = 2_500
/** A client that repeats a refused delivery for months makes very many refusals. */
const MAX_REFUSALS = 1_000
const MAX_PAGES = 20

/** Finds the deliveries and refusals of an order for operators, also if all of them are refusals. `who` names its customer. */
export const createOrderTimeline = ({ readBack, refused, customers }: OrderTimelineDependencies) => {
  async function detail(orderId: string, customer: string | undefined) {
    const pages: OrderDetail[] = []
    for (let cursor: string | null | undefined; cursor !== null; cursor = pages.at(-1)?.nextCursor ?? null)
      pages.push(await readBack.detail(OPERATOR, orderId, { customer, cursor, limit: AT_ONCE, withPayloads: false }))
    return { state: pages[0]?.state, deliveries: pages.flatMap(({ history }) => history).reverse() }
  }

  /** Reads some pages, the newest first. Returns whether more follow. */
  async function readBackwards(filter: RefusalFilter, onPage: (page: readonly Refusal[]) => void): Promise<boolean> {
    let before: string | null | undefined
    for (let read = 0; read < MAX_PAGES && before !== null; read++) {
      const page = await refused.refusals({ ...filter, before }, { limit: AT_ONCE, scan: SCANNED_AT_ONCE })
      onPage(page.refusals)
      before = page.next
    }
    return before !== null
  }

  async function refusalsOf(filter: RefusalFilter, onRead: () => void) {
    const newest: Refusal[] = []
    const customerIds = new Set<string | null>()
    let count = 0
    const isMore = await readBackwards(filter, (page) => {
      onRead()
      for (const { customerId } of page) customerIds.add(customerId)
      count += page.length
      newest.push(...page.slice(0, MAX_REFUSALS - newest.length))
    })
    count -= newest.length
    return { refusals: newest.reverse(), earlier: count > 0 || isMore ? { count, isMore } : undefined, customerIds }
  }

  /** Looks a day around what is known of the order. */
  async function notListedOf(
    customerId: string,
    times: readonly number[],
    onRead: () => void,
  ): Promise<NotListed | undefined> {
    const from = times.reduce((least, time) => Math.min(least, time)) - DAY_MILLISECONDS
    const to = times.reduce((most, time) => Math.max(most, time)) + DAY_MILLISECONDS
    let [count, first, last] = [0, to, from]
    const isMore = await readBackwards({ customerId, errorCode: NOT_LISTED, from, to }, (page) => {
      onRead()
      for (const each of page) {
        count += countIn(each)
        first = Math.min(first, each.at)
        last = Math.max(last, each.at)
      }
    })
    return count === 0 ? undefined : { count, isMore, from: first, to: last }
  }

  /**
   * Calls `onRead` with the number of pages of refusals that were read. `state` is undefined if no delivery was accepted; `refusals` are the
   * newest ones, `earlier` tells what was refused before them; `others` are customers whose deliveries of an order with this id were refused.
   */
  return async (orderId: string, who: string | undefined, onRead: (pages: number) => void) => {
    if (!isStorable(orderId)) throw new AppError(purchaseErrors.orderNotFound)
    let pages = 0
    const onPage = (): void => onRead(++pages)
    const asked = await customerAskedFor(OPERATOR, who, customers)
    const { state, deliveries } = await detail(orderId, asked).catch(noneAccepted)
    const all = await refusalsOf({ customerId: asked, orderId }, onPage)
    const customerId = state?.customerId ?? onlyCustomer(all.customerIds)
    const others = [...all.customerIds].filter((each) => each !== null && each !== customerId) as string[]
    // Those of others must not take the place of its own.
    const { refusals, earlier } = others.length === 0 ? all : await refusalsOf({ customerId, orderId }, onPage)
    const times = [...deliveries.map(({ receivedAt }) => receivedAt), ...refusals.map(({ at }) => at)]
    const notListed = await notListedOf(customerId, times, onPage)
    return { customerId, state, deliveries, refusals, earlier, others, notListed }
  }
}

function noneAccepted(error: unknown): { state: undefined; deliveries: [] } {
  if (error instanceof AppError && error.code === purchaseErrors.orderNotFound.code)
    return { state: undefined, deliveries: [] }
  throw error
}

/** A body is read once its key is accepted, so whatever has an order id has a customer. */
function onlyCustomer([one, other]: Iterable<string | null>): string {
  if (other !== undefined) throw new AppError(purchaseErrors.orderAmbiguous)
  if (!one) throw new AppError(purchaseErrors.orderNotFound)
  return one
}

const countIn = ({ notRecorded, message }: Refusal): number =>
  notRecorded ?? (typeof message === 'string' ? 0 : Number(message.values.count))

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
