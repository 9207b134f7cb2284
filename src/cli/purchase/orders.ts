import { OPERATOR } from '#src/customer/find-customer.ts'
import { inOtherWords } from '#src/lib/app-error.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import { counted, printable, shellWord } from '#src/lib/printable.ts'
import { type Count, entriesOf, type NotListed, type OrderTimeline } from '#src/purchase/orders/order-timeline.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import { whyRefused } from '#src/purchase/refusals/refusal-answer.ts'
import type { Refusal } from '#src/store/store.ts'
import type { CliContext, Command } from '../command.ts'
import { limitOption, readLimit } from '../input/number.ts'
import { table } from '../output/table.ts'
import type { Times } from '../output/times.ts'
import { noneOf, purchaseFilters, readPurchaseFilters } from './filters.ts'
import { deliveryCells, deliveryHeading, deliveryJson, orderJson, refusalJson, statusText } from './show.ts'
import { readPages, withPurchases } from './with-purchases.ts'

const DEFAULT_LIMIT = 50

export const orderList: Command = {
  name: 'order list',
  about: 'List orders and their state, by customer and order id',
  options: {
    ...purchaseFilters,
    newest: { about: 'List the order that changed last first' },
    limit: limitOption(DEFAULT_LIMIT, 'the first'),
  },
  async run(input, context) {
    const filters = readPurchaseFilters(input, context.clock.now())
    const most = readLimit(input, DEFAULT_LIMIT)
    const order = input.flag('newest') ? 'newest' : 'id'
    const { orders, names } = await withPurchases(context, async ({ readBack, namesOf }) => {
      const orders = await readPages(most, context, async (limit, cursor) => {
        const page = await readBack.list(OPERATOR, { ...filters, order, cursor, limit })
        return [page.orders, page.nextCursor]
      })
      return { orders, names: await namesOf(orders.map(({ customerId }) => customerId)) }
    })
    return {
      json: orders.map(orderJson),
      text() {
        if (orders.length === 0) return noneOf(filters, 'order', 'orders')
        const { times, columns } = context
        const rows = orders.map(({ receivedAt, orderId, status, customerId, receiptId }) => {
          const customer = names.get(customerId) ?? customerId
          return [orderId, statusText(status), times.text(receivedAt), customer, receiptId]
        })
        return table(['order', 'status', times.heading('changed'), 'customer', 'receipt'], rows, columns)
      },
    }
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
    customer: { value: 'CUSTOMER', about: 'The customer, if several have an order with this id: e-mail address or id' },
  },
  async run(input, context) {
    const orderId = input.word
    const { found, names } = await withPurchases(context, async ({ timeline, namesOf }) => {
      const onRead = (pages: number): void => context.progress(`${counted(pages, 'page')} of refusals read`)
      const found = await timeline(orderId, input.text('customer'), onRead)
      return { found, names: await namesOf([found.customerId, ...found.others]) }
    })
      .finally(() => context.progress(''))
      .catch(inOtherWords(purchaseErrors.orderNotFound, `There is no order ${JSON.stringify(orderId)}.`))
      .catch(inOtherWords(purchaseErrors.orderAmbiguous, AMBIGUOUS))
    return {
      json: timelineJson(orderId, found),
      text: () => timelineText(orderId, found, (id) => names.get(id) ?? id, context),
    }
  },
}

const timelineJson = (orderId: string, found: OrderTimeline) => {
  const { state, customerId, deliveries, refusals, earlier, others, notListed } = found
  return {
    ...(state === undefined ? { OrderID: orderId, CustomerID: customerId } : orderJson(state)),
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
  }
}

function timelineText(
  orderId: string,
  found: OrderTimeline,
  nameOf: (customerId: string) => string,
  { times, columns }: CliContext,
): string {
  const { state, customerId, refusals, earlier, others, notListed } = found
  const refused = { count: refusals.length + (earlier?.count ?? 0), isMore: earlier?.isMore ?? false }
  const status = state ? statusText(state.status) : `no accepted delivery; ${countText(refused)}`
  const isRefused = refusals.length > 0
  const all = deliveryHeading(times)
  const heading = ofOneOrder(all, all)
  const cells = entriesOf(found).map((each) =>
    'refusalId' in each
      ? refusalCells(each, times)
      : [...ofOneOrder(deliveryCells(each, times, undefined), all), ...(isRefused ? [''] : [])],
  )
  const lines = [
    `${printable(orderId)}   ${status}   ${nameOf(customerId)}\n`,
    table(isRefused ? [...heading.slice(0, -1), 'receipt or refusal', 'message'] : heading, cells, columns),
  ]
  if (earlier)
    lines.push(
      `\nand ${countText(earlier, 'earlier refusal')}: teslim delivery refused list --order ${shellWord(orderId)}`,
    )
  if (others.length > 0)
    lines.push(`\nRefused deliveries of other customers name this order, too: ${others.map(nameOf).join(', ')}.`)
  if (notListed) lines.push(`\n${notListedText(notListed, times)}`)
  return lines.join('\n')
}

const refusalCells = (refusal: Refusal, times: Times): string[] => [
  times.text(refusal.at),
  'refused',
  refusal.errorCode,
  String(refusal.payloadBytes ?? ''),
  refusal.refusalId,
  whyRefused(refusal),
]

const countText = ({ count, isMore }: Count, noun = 'refusal'): string =>
  isMore ? `${count.toLocaleString('en')} or more ${noun}s` : counted(count, noun)

function notListedText({ count, isMore, from, to }: NotListed, times: Times): string {
  const when =
    from === to ? `in the minute before ${times.text(to)}` : `between ${times.text(from)} and ${times.text(to)}`
  return `Besides, ${isMore ? 'at least ' : ''}${counted(count, 'refusal')} of this customer ${count === 1 ? 'was' : 'were'} only counted ${when}, not listed: some may be of this order.`
}
