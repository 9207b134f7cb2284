import { AppError } from '#src/lib/app-error.ts'
import type { After, Clock } from '#src/lib/clock.ts'
import type { Log } from '#src/lib/log/logger.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { PurgeStore, WebhookStore } from '#src/store/store.ts'
import type { Endpoint } from './endpoint.ts'

interface Seen {
  isSilent(): boolean
  failingSince(): number | null
}

/** A single delivery that fails now and then is not worth a line. */
const FAILING_MILLISECONDS = 60_000
/** Bounds the lines about an endpoint that works now and then. */
const QUIET_MILLISECONDS = 30_000

/** Logs one line when an endpoint starts failing and one when it works again. */
export function createFailingLog(log: Log, clock: Clock) {
  const loggedAt = new Map<string, number>()

  return {
    /** Must be called every second. */
    look(id: string, seen: Seen) {
      const since = seen.failingSince()
      const isFailing = seen.isSilent() || (since !== null && clock.now() - since >= FAILING_MILLISECONDS)
      const logged = loggedAt.get(id)
      if (isFailing && logged === undefined) {
        loggedAt.set(id, clock.monotonic())
        log.warn({ endpoint: id }, 'a webhook endpoint fails: deliveries wait for it')
      } else if (!isFailing && logged !== undefined && clock.monotonic() - logged >= QUIET_MILLISECONDS) {
        loggedAt.delete(id)
        log.info({ endpoint: id }, 'a webhook endpoint works again')
      }
    },
    /** Forgets all endpoints but these. */
    keep(ids: { has(id: string): boolean }) {
      for (const id of loggedAt.keys()) if (!ids.has(id)) loggedAt.delete(id)
    },
  }
}

/** Logs one line when the store is lost to webhooks and one when it is back. */
export function createStoreLog(log: Log, clock: Clock) {
  let loggedAt = Number.NEGATIVE_INFINITY
  let isLost = false
  return {
    failed(error: unknown): void {
      if (isLost || clock.monotonic() - loggedAt < QUIET_MILLISECONDS) return
      isLost = true
      loggedAt = clock.monotonic()
      log.warn({ err: error }, 'webhooks wait: the store does not answer')
    },
    works(): void {
      if (isLost) log.info({}, 'webhooks go on: the store answers again')
      isLost = false
    },
  }
}

export interface LostDependencies {
  readonly purges: Pick<PurgeStore, 'state'>
  readonly webhooks: Pick<WebhookStore, 'recordAttempt'>
  readonly clock: Clock
  readonly after: After
  readonly log: Log
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
