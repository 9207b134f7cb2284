import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { NewWebhook, Store, WaitingDelivery, WebhookSave } from '#src/store/store.ts'
import { webhook } from '../store/store-rows.ts'
import { save, untried } from './webhook-rows.ts'

export const HOLDER = 'holder'

/** Saves progress of an endpoint that nobody else holds. */
export async function saveProgress(
  { webhooks }: Store,
  id: string,
  progress: Partial<WebhookSave>,
  now = 1,
): Promise<void> {
  await webhooks.hold(HOLDER, 600_000, 1000)
  const position = (await webhooks.find(id))?.position ?? 0
  expect(await webhooks.save(HOLDER, [save(id, { position, ...progress })], now)).toEqual([id])
  await webhooks.release(HOLDER)
}

/** Adds an endpoint of which some deliveries are confirmed, and some wait. */
export async function addEndpointWith(
  store: Store,
  more: Partial<NewWebhook>,
  progress: Partial<WebhookSave> = {},
): Promise<string> {
  const added = webhook({ id: randomUUID(), position: 0, ...more })
  await store.webhooks.add(added)
  await saveProgress(store, added.id, progress)
  return added.id
}

export const pausedAt = (at: number) => ({ paused: { reason: 'operator', at } }) as const

export const confirmedAt = (position: number) => ({ position, status: 204, milliseconds: 5 })

export const rowAt = (position: number, lane: number, more: Partial<WaitingDelivery> = {}): WaitingDelivery =>
  untried(position, { lane, answered: true, ...more })

export const FAILED = { failures: 1, firstFailedAt: 1, nextAt: 2, lastError: 'status 500' }
export const SET_ASIDE = { ...FAILED, nextAt: null, setAsideAt: 1 }
