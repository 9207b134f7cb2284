import { OPERATOR } from '#src/customer/find-customer.ts'
import { printable } from '#src/lib/printable.ts'
import type { OrderDetail, OrderList } from '#src/purchase/orders/orders.rule.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import type { Order } from '#src/store/store.ts'
import type { Command } from '../command.ts'
import { limitOption, readLimit } from '../input/number.ts'
import { table } from '../output/table.ts'
import { noneOf, purchaseFilters, readPurchaseFilters } from './filters.ts'
import { deliveryCells, deliveryHeading, deliveryJson, orderJson, statusText } from './show.ts'
import { inOtherWords, withPurchases } from './with-purchases.ts'

const DEFAULT_LIMIT = 50
const MAX_IN_A_PAGE = 500

export const orderList: Command = {
  name: 'order list',
  about: 'List orders and their state, by customer and order id',
  options: {
    ...purchaseFilters,
    newest: { type: 'boolean', about: 'List the order that changed last first' },
    limit: limitOption(DEFAULT_LIMIT, 'the first'),
  },
  async run(input, context) {
    const { receipt, ...filters } = readPurchaseFilters(input, context.clock.now())
    const limit = readLimit(input, DEFAULT_LIMIT)
    const order = input.flag('newest') ? 'newest' : 'id'
    const { orders, emails } = await withPurchases(context, async ({ readBack, findDelivery, emails, receiptOf }) => {
      const wanted = receipt === undefined ? filters : { ...filters, ...(await orderOf(receipt)) }
      const orders: Order[] = []
      let cursor: string | undefined
      do {
        const most = Math.min(limit - orders.length, MAX_IN_A_PAGE)
        const page: OrderList = await readBack.list(OPERATOR, { ...wanted, order, cursor, limit: most })
        orders.push(...page.orders)
        cursor = page.nextCursor ?? undefined
        context.progress(`${orders.length} found`)
      } while (cursor !== undefined && orders.length < limit)
      context.progress('')
      return { orders, emails: await emails() }

      async function orderOf(typed: string) {
        const { customerId, orderId } = await findDelivery(OPERATOR, await receiptOf(typed))
        // No order has an empty id.
        return { customer: customerId, orderId: orderId ?? '' }
      }
    })
    if (input.json) {
      context.out(JSON.stringify(orders.map(orderJson)))
      return
    }
    if (orders.length === 0) {
      context.out(noneOf({ receipt, ...filters }, 'order', 'orders'))
      return
    }
    const cells = orders.map(({ receivedAt, orderId, status, customerId, receiptId }) =>
      [
        orderId,
        statusText(status),
        context.times.text(receivedAt),
        emails.get(customerId) ?? customerId,
        receiptId,
      ].map(printable),
    )
    context.out(
      table(['order', 'status', context.times.heading('changed'), 'customer', 'receipt'], cells, context.columns),
    )
  },
}

/** Leaves out the columns that are equal in every delivery of an order. */
const ofOneOrder = (cells: readonly string[], heading: readonly string[]): string[] =>
  cells.filter((_, column) => !['order', 'customer'].includes(heading[column] ?? ''))

export const orderShow: Command = {
  name: 'order show',
  about: 'Show one order and its whole history, newest last',
  positionals: ['ORDERID'],
  options: {
    customer: {
      type: 'string',
      value: 'CUSTOMER',
      about: 'The customer, if several have an order with this id: e-mail address or id',
    },
  },
  async run(input, context) {
    const [orderId = ''] = input.positionals
    const customer = input.text('customer')
    const { state, history, email } = await withPurchases(context, async ({ readBack, emails }) => {
      const pages: OrderDetail[] = []
      let cursor: string | undefined
      do {
        const query = { customer, cursor, limit: MAX_IN_A_PAGE, withPayloads: false }
        pages.push(await readBack.detail(OPERATOR, orderId, query))
        cursor = pages.at(-1)?.nextCursor ?? undefined
      } while (cursor !== undefined)
      const { state } = pages[0] as OrderDetail
      const history = pages.flatMap(({ history }) => history).reverse()
      return { state, history, email: (await emails()).get(state.customerId) }
    }).catch(inOtherWords(purchaseErrors.orderNotFound, `There is no order ${JSON.stringify(orderId)}.`))
    if (input.json) {
      context.out(JSON.stringify({ ...orderJson(state), Deliveries: history.map((each) => deliveryJson(each)) }))
      return
    }
    context.out(`${printable(state.orderId)}   ${statusText(state.status)}   ${email ?? state.customerId}\n`)
    const heading = deliveryHeading(context.times)
    const cells = history.map((each) => ofOneOrder(deliveryCells(each, context.times, email), heading))
    context.out(table(ofOneOrder(heading, heading), cells, context.columns))
  },
}
