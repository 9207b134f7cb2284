import { OPERATOR } from '#src/customer/find-customer.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import { counted, printable, shellWord } from '#src/lib/printable.ts'
import { type Count, entriesOf, type NotListed } from '#src/purchase/orders/order-timeline.ts'
import type { OrderList } from '#src/purchase/orders/orders.rule.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import { whyRefused } from '#src/purchase/refusals/refusal-answer.ts'
import type { Order, Refusal } from '#src/store/store.ts'
import type { Command } from '../command.ts'
import { limitOption, readLimit } from '../input/number.ts'
import { table } from '../output/table.ts'
import type { Times } from '../output/times.ts'
import { noneOf, purchaseFilters, readPurchaseFilters } from './filters.ts'
import { deliveryCells, deliveryHeading, deliveryJson, orderJson, refusalJson, statusText } from './show.ts'
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

const AMBIGUOUS = 'Several customers have an order with this id: name one of them with --customer.'

export const orderShow: Command = {
  name: 'order show',
  about: 'Show one order: its whole history and what was refused, newest last',
  details:
    'Also shows an order of which every delivery was refused. Where a refusal has bytes, its body is kept: see "teslim delivery refused show".',
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
    const { found, emails } = await withPurchases(context, async ({ timeline, emails }) => ({
      found: await timeline(orderId, input.text('customer'), (pages) =>
        context.progress(`${counted(pages, 'page')} of refusals read`),
      ),
      emails: await emails(),
    }))
      .finally(() => context.progress(''))
      .catch(inOtherWords(purchaseErrors.orderNotFound, `There is no order ${JSON.stringify(orderId)}.`))
      .catch(inOtherWords(purchaseErrors.orderAmbiguous, AMBIGUOUS))
    const { state, customerId, deliveries, refusals, earlier, others, notListed } = found
    if (input.json) {
      const order = state === undefined ? { OrderID: orderId, CustomerID: customerId } : orderJson(state)
      context.out(
        JSON.stringify({
          ...order,
          Deliveries: deliveries.map((each) => deliveryJson(each)),
          Refusals: refusals.map(refusalJson),
          ...(earlier && { EarlierRefusals: { Count: earlier.count, AtLeast: earlier.isMore } }),
          OtherCustomers: others,
          ...(notListed && {
            NotListed: {
              Count: notListed.count,
              AtLeast: notListed.isMore,
              From: isoMilliseconds(notListed.from),
              To: isoMilliseconds(notListed.to),
            },
          }),
        }),
      )
      return
    }
    const email = (id: string): string => emails.get(id) ?? id
    const status = state
      ? statusText(state.status)
      : `no accepted delivery; ${countText({ count: refusals.length + (earlier?.count ?? 0), isMore: earlier?.isMore ?? false })}`
    const isRefused = refusals.length > 0
    const { times } = context
    const all = deliveryHeading(times)
    const heading = ofOneOrder(all, all)
    const cells = entriesOf(found).map((each) =>
      'refusalId' in each
        ? refusalCells(each, times)
        : [...ofOneOrder(deliveryCells(each, times, undefined), all), ...(isRefused ? [''] : [])],
    )
    context.out(
      [
        `${printable(orderId)}   ${status}   ${email(customerId)}\n`,
        table(isRefused ? [...heading.slice(0, -1), 'receipt or refusal', 'message'] : heading, cells, context.columns),
        ...(earlier === undefined
          ? []
          : [
              `\nand ${countText(earlier, 'earlier refusal')}: teslim delivery refused list --order ${shellWord(orderId)}`,
            ]),
        ...(others.length === 0
          ? []
          : [`\nRefused deliveries of other customers name this order, too: ${others.map(email).join(', ')}.`]),
        ...(notListed === undefined ? [] : [`\n${notListedText(notListed, times)}`]),
      ].join('\n'),
    )
  },
}

const refusalCells = (refusal: Refusal, times: Times): string[] =>
  [
    times.text(refusal.at),
    'refused',
    refusal.errorCode,
    String(refusal.payloadBytes ?? ''),
    refusal.refusalId,
    whyRefused(refusal),
  ].map(printable)

const countText = ({ count, isMore }: Count, noun = 'refusal'): string =>
  isMore ? `${count.toLocaleString('en')} or more ${noun}s` : counted(count, noun)

function notListedText({ count, isMore, from, to }: NotListed, times: Times): string {
  const when =
    from === to ? `in the minute before ${times.text(to)}` : `between ${times.text(from)} and ${times.text(to)}`
  return `Besides, ${isMore ? 'at least ' : ''}${counted(count, 'refusal')} of this customer ${count === 1 ? 'was' : 'were'} only counted ${when}, not listed: some may be of this order.`
}
