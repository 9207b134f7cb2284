import type { Clock } from '#src/lib/clock.ts'
import type { PurgeStore, WebhookStore } from '#src/store/store.ts'
import { NO_ATTEMPT } from './entry.ts'
import type { PushLog } from './failing-log.ts'
import type { Run } from './run.ts'

export interface LostDependencies {
  readonly purges: Pick<PurgeStore, 'state'>
  readonly webhooks: Pick<WebhookStore, 'recordAttempt'>
  readonly clock: Clock
  readonly log: PushLog
  readonly onFailed: (error: unknown) => void
}

const LOST =
  'a failover or a recovery of the database lost deliveries, some of which may have been sent: what is stored after them is sent'

/** Tells whoever looks after an endpoint, in the log and among its attempts, that deliveries were lost. */
export function createLostNotice({ purges, webhooks, clock, log, onFailed }: LostDependencies) {
  const tell = async (endpoint: string): Promise<void> => {
    log.warn({ endpoint }, 'deliveries that a webhook endpoint may have got were lost in a failover of the database')
    await webhooks.recordAttempt(endpoint, { ...NO_ATTEMPT, at: clock.now(), error: LOST }).catch(onFailed)
  }
  return {
    tell,
    /** Tells it if the run had read deliveries that are lost. */
    look: ({ id, readTo }: Run): void =>
      void purges.state(readTo()).then(({ lost }) => (lost === null ? undefined : tell(id)), onFailed),
  }
}
