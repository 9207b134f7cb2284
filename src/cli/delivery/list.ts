import type { FoundDelivery } from '#src/purchase/orders/delivery-search.ts'
import type { Command } from '../command.ts'
import { limitOption, readLimit } from '../input/limit.ts'
import { purchaseFilters, readPurchaseFilters } from '../input/purchase-filters.ts'
import { DELIVERY_HEADING, deliveryCells, deliveryJson } from '../output/show-delivery.ts'
import { tableWithin } from '../output/table.ts'
import { withPurchases } from '../with-purchases.ts'

const DEFAULT_LIMIT = 50

export const deliveryList: Command = {
  name: 'delivery list',
  about: 'List deliveries, echoes included, the newest last',
  options: { ...purchaseFilters, limit: limitOption(DEFAULT_LIMIT, 'the newest') },
  async run(input, context) {
    const query = { ...readPurchaseFilters(input, context.clock.now()), withPayload: false }
    const limit = readLimit(input, DEFAULT_LIMIT)
    const { found, emails } = await withPurchases(context, async ({ search, emails }) => {
      const newest: FoundDelivery[] = []
      for await (const one of search.findNewest(query, limit, (done, all) => context.progress(`${done} of ${all}`))) {
        newest.push(one)
      }
      context.progress('')
      return { found: newest, emails: await emails() }
    })
    if (input.json) {
      context.out(JSON.stringify(found.map(({ delivery }) => deliveryJson(delivery))))
      return
    }
    if (found.length === 0) {
      context.out('There is no such delivery. What was refused is in the audit log: see teslim audit list.')
      return
    }
    const cells = found.map(({ delivery }) => deliveryCells(delivery, emails.get(delivery.customerId)))
    context.out(tableWithin(context.columns ?? Number.POSITIVE_INFINITY, DELIVERY_HEADING, cells))
  },
}
