import { beforeAll, it } from 'vitest'
import type { Customer, NewDelivery, Store } from '#src/store/store.ts'
import { customer } from '../../support/store/store-rows.ts'

/** Opens a store on the same data each time it is called. */
export type Open = () => Promise<Store>

const opened = new Map<Open, Promise<Store>>()

/** Closes what the promises of a file were tested on. */
export async function closeStores(): Promise<void> {
  const stores = await Promise.all(opened.values())
  opened.clear()
  await Promise.all(stores.map((store) => store.close()))
}

/** The ways in which a capability states its promises, all on one open store, also those of other capabilities on the same data. */
export function promises(open: Open) {
  let store: Store
  beforeAll(async () => {
    const before = opened.get(open) ?? open()
    opened.set(open, before)
    store = await before
  })
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

export const bytes = (array: Uint8Array | null | undefined): Buffer => Buffer.from(array ?? [])

export async function deliverAll({ deliveries }: Store, all: readonly NewDelivery[]): Promise<void> {
  for (const each of all) await deliveries.deliver(each)
}
