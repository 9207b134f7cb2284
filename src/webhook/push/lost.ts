import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { PurgeStore, WebhookStore } from '#src/store/store.ts'
import type { Endpoint } from './endpoint.ts'
import type { PushLog } from './push-log.ts'
import type { After } from './timers.ts'

export interface LostDependencies {
  readonly purges: Pick<PurgeStore, 'state'>
  readonly webhooks: Pick<WebhookStore, 'recordAttempt'>
  readonly clock: Clock
  readonly after: After
  readonly log: PushLog
  readonly onFailed: (error: unknown) => void
  readonly isStopped: () => boolean
}

const AGAIN_MILLISECONDS = 1000
/** Longer than a failover takes. */
const MAX_TRIES = 120
const ONE_LOSS_MILLISECONDS = 30_000

const LOST =
  'a failover or a recovery of the database lost deliveries, some of which may have been sent: what is stored after them is sent'

/** Tells whoever looks after an endpoint, in the log and among its attempts, that deliveries were lost. */
export function createLostNotice({ purges, webhooks, clock, after, log, onFailed, isStopped }: LostDependencies) {
  /** The store may be away again so soon after a failover. Any other failure, such as of an endpoint that was removed, would stay. */
  const untilDone = (work: () => Promise<void>, tries = 1): void =>
    void work().catch((error: unknown) => {
      onFailed(error)
      const isAway = error instanceof AppError && error.code === storeErrors.unavailable.code
      if (isAway && tries < MAX_TRIES) after(AGAIN_MILLISECONDS, () => isStopped() || untilDone(work, tries + 1))
    })

  /** When each endpoint was told last: its holder, the lease and the place that is stored may each notice the same loss. */
  const toldAt = new Map<string, number>()

  const tell = (endpoint: string): void => {
    const now = clock.monotonic()
    if (now - (toldAt.get(endpoint) ?? Number.NEGATIVE_INFINITY) < ONE_LOSS_MILLISECONDS) return
    toldAt.set(endpoint, now)
    log.warn({ endpoint }, 'deliveries that a webhook endpoint may have got were lost in a failover of the database')
    const nothing = { position: null, receiptId: null, status: null, milliseconds: 0, response: null, nextAt: null }
    const attempt = { ...nothing, at: clock.now(), error: LOST }
    untilDone(() => webhooks.recordAttempt(endpoint, attempt))
  }
  return {
    tell,
    /** Tells it if it had read deliveries that are lost. */
    look({ id, readTo }: Pick<Endpoint, 'id' | 'readTo'>): void {
      const place = readTo()
      untilDone(async () => {
        if ((await purges.state(place)).lost !== null) tell(id)
      })
    },
  }
}
