import type { NewWebhook, Store } from '#src/store/store.ts'
import { webhook } from '../../support/store/store-rows.ts'
import { ALL, holderName, LONG } from '../../support/webhooks/webhook-rows.ts'
import { type Open, promises } from './promises.ts'

/** The ways in which a capability states promises about endpoints: each begins and ends without any. */
export function webhookPromises(open: Open) {
  const { promise, withCustomers } = promises(open)

  const removeAll = async ({ webhooks }: Store): Promise<void> => {
    for (const { id } of await webhooks.list()) await webhooks.remove(id)
  }

  const emptied =
    <Args extends unknown[]>(work: (store: Store, ...args: Args) => Promise<void>) =>
    async (store: Store, ...args: Args): Promise<void> => {
      try {
        await work(store, ...args)
      } finally {
        await removeAll(store)
      }
    }

  return {
    promise: (text: string, work: Parameters<typeof promise>[1]) => promise(text, emptied(work)),
    withCustomers: (text: string, work: Parameters<typeof withCustomers>[1]) => withCustomers(text, emptied(work)),
  }
}

/** Adds an endpoint, and holds it. */
export async function held({ webhooks }: Store, more: Partial<NewWebhook> = {}) {
  const one = webhook(more)
  const holder = holderName()
  await webhooks.add(one)
  await webhooks.hold(holder, LONG, ALL)
  return { id: one.id, holder }
}
