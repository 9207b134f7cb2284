import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Customer, Store } from '#src/store/store.ts'
import { type ApiKeyView, toView } from './api-key.rule.ts'
import { customerErrors } from './customer.errors.ts'
import { findCustomer, isCustomer } from './find-customer.ts'

interface KeysQuery {
  /** E-mail address or id; the one that asks unless given. */
  readonly customer?: string | undefined
  readonly limit: number
  /** Continue after this key. */
  readonly cursor?: string | undefined
}

interface KeysPage {
  readonly keys: readonly ApiKeyView[]
  readonly nextCursor: string | null
}

/** Who asks, and whether it sees the data of all customers. */
interface Asking {
  readonly customer: Customer
  readonly seesAll: boolean
}

/** Lists the API keys of the customer that asks; an operator may ask for those of another one. */
export function createCustomerKeys({ apiKeys, customers }: Pick<Store, 'apiKeys' | 'customers'>, clock: Clock) {
  /** Others than operators get the answer for an unknown customer, and nobody is looked up. */
  const find = async ({ customer, seesAll }: Asking, who: string | undefined): Promise<Customer> => {
    if (who === undefined || isCustomer(customer, who)) return customer
    const found = seesAll ? await findCustomer(customers, who) : undefined
    if (found === undefined) throw new AppError(customerErrors.notFound)
    return found
  }

  return async (asking: Asking, { customer, limit, cursor }: KeysQuery): Promise<KeysPage> => {
    const { id } = await find(asking, customer)
    // One more than asked for tells whether there are more.
    const found = await apiKeys.page(id, { afterId: cursor, limit: limit + 1 })
    const keys = found.slice(0, limit).map((key) => toView(key, clock.now()))
    return { keys, nextCursor: found.length > limit ? (keys.at(-1)?.id ?? null) : null }
  }
}
