import { OPERATOR } from '#src/customer/find-customer.ts'
import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import { namesOf } from '#src/lib/display-name.ts'
import { createCursors } from '#src/purchase/cursors.ts'
import { createFindDelivery } from '#src/purchase/deliveries/deliveries.rule.ts'
import { createDeliveryReader } from '#src/purchase/delivery-body.ts'
import { createDeliverySearch, type DeliverySearch } from '#src/purchase/orders/delivery-search.ts'
import { createOrderTimeline } from '#src/purchase/orders/order-timeline.ts'
import { createReadBack, type ReadBack } from '#src/purchase/orders/orders.rule.ts'
import { createFindKey } from '#src/purchase/origin-filter.ts'
import { createRefusalReads, type RefusalReads } from '#src/purchase/refusals/refusals.rule.ts'
import type { ApiKey, RefusedStore } from '#src/store/store.ts'
import type { CliContext } from '../command.ts'
import { byPrefix, findKeyId, findReceipt } from '../input/id-prefix.ts'
import { withStore } from '../with-store.ts'

export interface PurchaseRules {
  readonly readBack: ReadBack
  readonly findDelivery: ReturnType<typeof createFindDelivery>
  readonly search: DeliverySearch
  readonly timeline: ReturnType<typeof createOrderTimeline>
  readonly refusals: RefusalReads
  readonly refused: RefusedStore
  /** What people call these customers, by id: name and e-mail address. */
  namesOf(ids: readonly (string | null)[]): Promise<Map<string, string>>
  /** The receipt that a unique prefix stands for. */
  receiptOf(text: string): Promise<string>
  /** The API key that a unique prefix of its id stands for. */
  keyOf(text: string): Promise<ApiKey>
}

/** Replaces a message for callers of the API with one for the command line. */
export const inOtherWords =
  (definition: ErrorDefinition, message: string) =>
  (error: unknown): never => {
    throw error instanceof AppError && error.code === definition.code ? new AppError(definition, { message }) : error
  }

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
): Promise<Result> =>
  withStore(context, 'read', (store, config) => {
    const { deliveries, purges, refused, secrets, apiKeys } = store
    const customers = byPrefix(store.customers)
    const { products: productsOf } = createDeliveryReader(config)
    const cursors = createCursors(secrets, context.random)
    const dependencies = { deliveries, purges, refused, customers, cursors, productsOf }
    const readBack = createReadBack(dependencies)
    return work({
      readBack,
      findDelivery: createFindDelivery(deliveries),
      search: createDeliverySearch(dependencies),
      timeline: createOrderTimeline({ readBack, refused, customers }),
      refusals: createRefusalReads(dependencies),
      refused,
      receiptOf: (text) => findReceipt(text, deliveries),
      keyOf: async (text) => createFindKey(apiKeys)(OPERATOR, await findKeyId(text, apiKeys)),
      namesOf: (ids) => namesOf(customers.names, ids),
    })
  })
