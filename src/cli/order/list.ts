import { OPERATOR } from '#src/purchase/caller.ts'
import type { OrderList } from '#src/purchase/orders/orders.rule.ts'
import type { Order } from '#src/store/store.ts'
import type { Command } from '../command.ts'
import { limitOption, readLimit } from '../input/limit.ts'
import { purchaseFilters, readPurchaseFilters } from '../input/purchase-filters.ts'
import { printable } from '../output/printable.ts'
import { orderJson, statusText, timeText } from '../output/show-delivery.ts'
import { tableWithin } from '../output/table.ts'
import { withPurchases } from '../with-purchases.ts'

const DEFAULT_LIMIT = 50
const MOST_IN_A_PAGE = 500

export const orderList: Command = {
  name: 'order list',
  about: 'List orders and their current state, by customer and order id',
  options: { ...purchaseFilters, limit: limitOption(DEFAULT_LIMIT, 'the first ones') },
  async run(input, context) {
    const { receipt, ...filters } = readPurchaseFilters(input, context.clock.now())
    const limit = readLimit(input, DEFAULT_LIMIT)
    const { orders, emails } = await withPurchases(context, async ({ readBack, emails }) => {
      const wanted = receipt === undefined ? filters : { ...filters, ...(await orderOf(receipt)) }
      const orders: Order[] = []
      let cursor: string | undefined
      do {
        const most = Math.min(limit - orders.length, MOST_IN_A_PAGE)
        const page: OrderList = await readBack.list(OPERATOR, { ...wanted, cursor, limit: most })
        orders.push(...page.orders)
        cursor = page.nextCursor ?? undefined
        context.progress(`${orders.length} found`)
      } while (cursor !== undefined && orders.length < limit)
      context.progress('')
      return { orders, emails: await emails() }

      async function orderOf(receiptId: string) {
        const { customerId, orderId } = await readBack.delivery(OPERATOR, receiptId)
        // None has an empty id.
        return { customer: customerId, orderId: orderId ?? '' }
      }
    })
    if (input.json) {
      context.out(JSON.stringify(orders.map(orderJson)))
      return
    }
    if (orders.length === 0) {
      context.out('There is no such order.')
      return
    }
    const cells = orders.map(({ receivedAt, orderId, status, customerId, receiptId }) =>
      [orderId, statusText(status), timeText(receivedAt), emails.get(customerId) ?? customerId, receiptId].map(
        printable,
      ),
    )
    const heading = ['order', 'status', 'since (UTC)', 'customer', 'receipt']
    context.out(tableWithin(context.columns ?? Number.POSITIVE_INFINITY, heading, cells))
  },
}
