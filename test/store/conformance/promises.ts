import { afterAll, beforeAll, it } from 'vitest'
import type { Customer, NewDelivery, Store } from '#src/store/store.ts'
import { customer } from '../../support/store-rows.ts'

/** Opens a store on the same data each time it is called. */
export type Open = () => Promise<Store>

/** The ways in which a capability states its promises, all on one open store. */
export function promises(open: Open) {
  let store: Store
  beforeAll(async () => {
    store = await open()
  })
  afterAll(() => store.close())
  const promise = (text: string, work: (store: Store) => Promise<void>): void => it(text, () => work(store))
  const withCustomers = (text: string, work: (store: Store, one: Customer, other: Customer) => Promise<void>): void =>
    promise(text, async (store) => {
      const [one, other] = [customer(), customer()]
      await store.customers.insert(one)
      await store.customers.insert(other)
      await work(store, one, other)
    })
  return { promise, withCustomers }
}

export async function changesAccountVersion(store: Store, work: () => Promise<unknown>): Promise<boolean> {
  const before = await store.accountVersion()
  await work()
  return (await store.accountVersion()) !== before
}

export const bytes = (array: Uint8Array | undefined): Buffer => Buffer.from(array ?? [])

export async function deliverAll({ deliveries }: Store, all: readonly NewDelivery[]): Promise<void> {
  for (const each of all) await deliveries.deliver(each)
}
