import { loadConfig } from '#src/config/load-config.ts'
import { newId, systemRandom } from '#src/lib/random.ts'
import { createCursors } from '#src/purchase/cursors.ts'
import type { NewDelivery, NewWebhook, WaitingDelivery, WebhookSave } from '#src/store/store.ts'
import { openEndpoints } from '#src/webhook/endpoints/open-endpoints.ts'
import { laneOf } from '#src/webhook/lane.ts'
import { TestClock } from '../app/test-app.ts'
import { customer, delivery, webhook } from '../store/store-rows.ts'
import { openTestStore } from '../store/test-store.ts'
import { saveProgress } from './unsent.ts'
import { untried } from './webhook-rows.ts'

export type Stored = Pick<WaitingDelivery, 'position' | 'lane'> & { readonly receiptId: string }

/** A store with two customers, the rule of endpoints on it, and what a server would store for them. */
export async function endpointStage(databaseUrl?: string) {
  const store = await openTestStore(databaseUrl)
  const { config } = loadConfig({})
  const clock = new TestClock()
  const { endpoints } = openEndpoints({
    store,
    cursors: createCursors(store.secrets, systemRandom),
    config,
    proxyVariables: {},
    clock,
    random: systemRandom,
  })
  const [one, other] = [customer(), customer()]
  for (const each of [one, other]) await store.customers.insert(each)
  const now = clock.now()

  /** Stores what a server has done for an endpoint, of which it has the lease. */
  const storeProgress = (id: string, more: Partial<WebhookSave>) => saveProgress(store, id, more, clock.now())

  return {
    store,
    clock,
    endpoints,
    one,
    other,
    now,
    async deliver(ago: number, more: Partial<NewDelivery> = {}, who = one): Promise<Stored> {
      const receivedAt = now + ago
      const made = delivery(who.id, { receivedAt, receiptId: newId(receivedAt, systemRandom), ...more })
      await store.deliveries.deliver(made)
      const found = await store.deliveries.findByReceipt(made.receiptId)
      if (found === undefined) throw new Error('it was not stored')
      const { position, customerId, orderId, receiptId } = found
      return { receiptId, position, lane: laneOf(customerId, orderId, position) }
    },
    async add(more: Partial<NewWebhook> = {}): Promise<string> {
      const added = webhook(more)
      await store.webhooks.add(added)
      return added.id
    },
    storeProgress,
    /** Deliveries that the endpoint has not taken: failed ones, or those that only wait. */
    keep: (id: string, rows: readonly (Stored & Partial<WaitingDelivery>)[]) =>
      storeProgress(id, { kept: rows.map(({ receiptId: _, ...row }) => untried(row.position, row)) }),
  }
}
