import type { Config } from '#src/config/load-config.ts'
import { OPERATOR } from '#src/customer/find-customer.ts'
import { namesOf } from '#src/lib/display-name.ts'
import { createCursors } from '#src/purchase/cursors.ts'
import { createFindDelivery } from '#src/purchase/deliveries/deliveries.rule.ts'
import { createDeliveryReader } from '#src/purchase/delivery-body.ts'
import { createDeliverySearch } from '#src/purchase/orders/delivery-search.ts'
import { createOrderTimeline } from '#src/purchase/orders/order-timeline.ts'
import { createReadBack } from '#src/purchase/orders/orders.rule.ts'
import { createFindKey } from '#src/purchase/origin-filter.ts'
import { createRefusalReads } from '#src/purchase/refusals/refusals.rule.ts'
import type { Store } from '#src/store/store.ts'
import type { CliContext } from '../command.ts'
import { byPrefix, findKeyId, findReceipt } from '../input/id-prefix.ts'
import { withStore } from '../with-store.ts'

export type PurchaseRules = ReturnType<typeof purchaseRules>

const MAX_IN_A_PAGE = 500

/** Reads pages until there are `limit` entries or no more. Shows on a terminal how many were found. */
export async function readPages<Entry>(
  limit: number,
  { progress }: CliContext,
  read: (limit: number, cursor: string | undefined) => Promise<readonly [readonly Entry[], nextCursor: string | null]>,
): Promise<Entry[]> {
  const found: Entry[] = []
  for (let cursor: string | null | undefined; cursor !== null && found.length < limit; ) {
    const [entries, next] = await read(Math.min(limit - found.length, MAX_IN_A_PAGE), cursor)
    found.push(...entries)
    cursor = next
    progress(`${found.length} found`)
  }
  progress('')
  return found
}

/** Opens the store to read deliveries, orders and refusals. */
export const withPurchases = <Result>(
  context: CliContext,
  work: (rules: PurchaseRules) => Promise<Result>,
): Promise<Result> => withStore(context, 'read', (store, config) => work(purchaseRules(store, config, context)))

function purchaseRules(store: Store, config: Config, { random }: CliContext) {
  const { deliveries, purges, refused, secrets, apiKeys } = store
  const customers = byPrefix(store.customers)
  const { products: productsOf } = createDeliveryReader(config)
  const cursors = createCursors(secrets, random)
  const dependencies = { deliveries, purges, refused, customers, cursors, productsOf }
  const readBack = createReadBack(dependencies)
  return {
    readBack,
    findDelivery: createFindDelivery(deliveries),
    search: createDeliverySearch(dependencies),
    timeline: createOrderTimeline({ readBack, refused, customers }),
    refusals: createRefusalReads(dependencies),
    refused,
    /** The receipt that a unique prefix stands for. */
    receiptOf: (text: string) => findReceipt(text, deliveries),
    /** The API key that a unique prefix of its id stands for. */
    keyOf: async (text: string) => createFindKey(apiKeys)(OPERATOR, await findKeyId(text, apiKeys)),
    /** What people call these customers, by id: name and e-mail address. */
    namesOf: (ids: readonly (string | null)[]) => namesOf(customers.names, ids),
  }
}
