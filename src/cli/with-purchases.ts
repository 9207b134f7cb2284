import { createCursors } from '#src/purchase/cursors.ts'
import { createDeliveryReader } from '#src/purchase/intake/delivery-body.ts'
import { createDeliverySearch, type DeliverySearch } from '#src/purchase/orders/delivery-search.ts'
import { createReadBack, type ReadBack } from '#src/purchase/orders/orders.rule.ts'
import { openStore } from '#src/store/open-store.ts'
import type { CliContext } from './command.ts'

export interface PurchaseRules {
  readonly readBack: ReadBack
  readonly search: DeliverySearch
  /** E-mail addresses by customer id. */
  emails(): Promise<Map<string, string>>
}

/** Opens the store for the length of one look at what came in. */
export async function withPurchases<Result>(
  { loadConfig, clock, random }: CliContext,
  work: (rules: PurchaseRules) => Promise<Result>,
): Promise<Result> {
  const { config } = loadConfig()
  const { store } = await openStore(config, clock.now())
  const { deliveries, customers, secrets } = store
  const { products: productsOf } = createDeliveryReader(config)
  const cursors = createCursors(secrets, random)
  const emails = async (): Promise<Map<string, string>> => {
    const all = new Map<string, string>()
    for (let page = await customers.list({ limit: 500 }); page.length > 0; ) {
      for (const { id, email } of page) all.set(id, email)
      page = await customers.list({ afterId: page.at(-1)?.id ?? '', limit: 500 })
    }
    return all
  }
  try {
    return await work({
      readBack: createReadBack({ deliveries, customers, cursors, productsOf }),
      search: createDeliverySearch({ deliveries, customers, cursors, productsOf }),
      emails,
    })
  } finally {
    await store.close()
  }
}
