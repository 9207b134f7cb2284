import { writeJson } from '#src/lib/json/raw.ts'
import type { Command } from '../command.ts'
import { purchaseFilters, readPurchaseFilters } from '../input/purchase-filters.ts'
import { deliveryJson } from '../output/show-delivery.ts'
import { withPurchases } from '../with-purchases.ts'

export const deliveryExport: Command = {
  name: 'delivery export',
  about:
    'Write deliveries and their payloads as NDJSON, in the order of commits; the last Cursor goes on where it ended',
  options: {
    ...purchaseFilters,
    after: {
      type: 'string',
      value: 'CURSOR',
      about: 'Only what came after this Cursor of an earlier export or the feed',
    },
  },
  async run(input, context) {
    const filters = readPurchaseFilters(input, context.clock.now())
    const query = { ...filters, after: input.text('after'), withPayload: true }
    await withPurchases(context, async ({ search }) => {
      const onLooked = (done: number, all: number): void => context.progress(`${done} of ${all}`)
      for await (const { delivery, payload } of search.find(query, onLooked)) {
        const line = { ...deliveryJson(delivery, payload), Cursor: await search.cursorOf(delivery, query) }
        // A line break in JSON is never part of a value.
        context.out(
          writeJson(line)
            .toString()
            .replace(/[\r\n]/g, ' '),
        )
      }
      context.progress('')
    })
  },
}
