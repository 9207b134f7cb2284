import type { WebhookStore } from '#src/store/store.ts'
import type { Database } from '../database.ts'
import type { StoreThread } from '../thread/store-thread.ts'
import { leaseLookUps, webhookLeases } from './leases.ts'
import { bindOperations, sendOperations } from './operations.ts'
import { webhookProgress } from './progress.ts'
import { webhookReads } from './reads.ts'
import { webhookWrites } from './writes.ts'

export function sqliteWebhooks(database: Database, writer: StoreThread, reader: StoreThread): WebhookStore {
  const { claim, renew, ...leases } = sendOperations(webhookLeases, writer)
  const { isAnyFree, holdsAny } = bindOperations(leaseLookUps, database)
  return {
    ...sendOperations(webhookWrites, writer),
    ...sendOperations(webhookProgress, writer),
    ...sendOperations(webhookReads, reader),
    ...leases,
    claim: async (holder, leaseMilliseconds, most) => (isAnyFree() ? claim(holder, leaseMilliseconds, most) : []),
    renew: async (holder, leaseMilliseconds) => (holdsAny(holder) ? renew(holder, leaseMilliseconds) : []),
  }
}
