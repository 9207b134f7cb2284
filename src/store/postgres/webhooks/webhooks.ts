import type { WebhookStore } from '#src/store/store.ts'
import type { Database } from '../database.ts'
import { webhookLeases } from './leases.ts'
import { webhookProgress } from './progress.ts'
import { webhookReads } from './reads.ts'
import { webhookWrites } from './writes.ts'

export const postgresWebhooks = (database: Database): WebhookStore => ({
  ...webhookLeases(database.query),
  ...webhookProgress(database.query),
  ...webhookReads(database),
  ...webhookWrites(database),
})
