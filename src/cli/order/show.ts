import { OPERATOR } from '#src/purchase/caller.ts'
import type { OrderDetail } from '#src/purchase/orders/orders.rule.ts'
import type { Command } from '../command.ts'
import { printable } from '../output/printable.ts'
import { DELIVERY_HEADING, deliveryCells, deliveryJson, orderJson, statusText } from '../output/show-delivery.ts'
import { tableWithin } from '../output/table.ts'
import { withPurchases } from '../with-purchases.ts'

const PAGE = 500

export const orderShow: Command = {
  name: 'order show',
  about: 'Show one order and its whole history, the newest last',
  positionals: ['ORDERID'],
  options: {
    customer: { type: 'string', value: 'CUSTOMER', about: 'Whose order it is, where several have one of this id' },
  },
  async run(input, context) {
    const [orderId = ''] = input.positionals
    const customer = input.text('customer')
    const { state, history, email } = await withPurchases(context, async ({ readBack, emails }) => {
      const pages: OrderDetail[] = []
      let cursor: string | undefined
      do {
        pages.push(await readBack.detail(OPERATOR, orderId, { customer, cursor, limit: PAGE, withPayloads: false }))
        cursor = pages.at(-1)?.nextCursor ?? undefined
      } while (cursor !== undefined)
      const { state } = pages[0] as OrderDetail
      const history = pages.flatMap(({ history }) => history).reverse()
      return { state, history, email: (await emails()).get(state.customerId) }
    })
    if (input.json) {
      context.out(JSON.stringify({ ...orderJson(state), Deliveries: history.map((each) => deliveryJson(each)) }))
      return
    }
    context.out(`${printable(state.orderId)}   ${statusText(state.status)}   ${email ?? state.customerId}\n`)
    const cells = history.map((each) => deliveryCells(each, email))
    context.out(tableWithin(context.columns ?? Number.POSITIVE_INFINITY, DELIVERY_HEADING, cells))
  },
}
