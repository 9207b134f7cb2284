import { allCustomers } from '#src/customer/find-customer.ts'
import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import { displayNames } from '#src/lib/display-name.ts'
import { createCursors } from '#src/purchase/cursors.ts'
import { createFindDelivery } from '#src/purchase/deliveries/deliveries.rule.ts'
import { createDeliveryReader } from '#src/purchase/delivery-body.ts'
import { createDeliverySearch, type DeliverySearch } from '#src/purchase/orders/delivery-search.ts'
import { createReadBack, type ReadBack } from '#src/purchase/orders/orders.rule.ts'
import type { CliContext } from '../command.ts'
import { byPrefix, findReceipt } from '../input/id-prefix.ts'
import { withStore } from '../with-store.ts'

export interface PurchaseRules {
  readonly readBack: ReadBack
  readonly findDelivery: ReturnType<typeof createFindDelivery>
  readonly search: DeliverySearch
  /** What people call each customer, by id: name and e-mail address. */
  emails(): Promise<Map<string, string>>
  /** The receipt that a unique prefix stands for. */
  receiptOf(text: string): Promise<string>
}

/** Replaces a message for callers of the API with one for the command line. */
export const inOtherWords =
  (definition: ErrorDefinition, message: string) =>
  (error: unknown): never => {
    throw error instanceof AppError && error.code === definition.code ? new AppError(definition, { message }) : error
  }

/** Opens the store to read deliveries and orders. */
export const withPurchases = <Result>(
  context: CliContext,
  work: (rules: PurchaseRules) => Promise<Result>,
): Promise<Result> =>
  withStore(context, 'read', (store, config) => {
    const { deliveries, purges, secrets } = store
    const customers = byPrefix(store.customers)
    const { products: productsOf } = createDeliveryReader(config)
    const dependencies = { deliveries, purges, customers, cursors: createCursors(secrets, context.random), productsOf }
    return work({
      readBack: createReadBack(dependencies),
      findDelivery: createFindDelivery(deliveries),
      search: createDeliverySearch(dependencies),
      receiptOf: (text) => findReceipt(text, deliveries),
      emails: async () => displayNames(await allCustomers(customers)),
    })
  })
