import type { Clock } from '#src/lib/clock.ts'
import type { Customer, Store } from '#src/store/store.ts'
import { toView } from './api-key.rule.ts'
import { type Caller, customerNamed } from './find-customer.ts'

interface KeysQuery {
  /** E-mail address or id; the one that asks unless given. */
  readonly customer?: string | undefined
  readonly limit: number
  /** Continue after this key. */
  readonly cursor?: string | undefined
}

/** Lists the API keys of the customer that asks; an operator may ask for those of another one. */
export function createCustomerKeys({ apiKeys, customers }: Pick<Store, 'apiKeys' | 'customers'>, clock: Clock) {
  return async (caller: Caller & { readonly customer: Customer }, { customer, limit, cursor }: KeysQuery) => {
    const id = customer === undefined ? caller.customer.id : await customerNamed(caller, customer, customers)
    // One more than asked for tells whether there are more.
    const found = await apiKeys.page(id, { afterId: cursor, limit: limit + 1 })
    const keys = found.slice(0, limit).map((key) => toView(key, clock.now()))
    return { keys, nextCursor: found.length > limit ? (keys.at(-1)?.id ?? null) : null }
  }
}
