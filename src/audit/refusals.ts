import type { Clock } from '#src/lib/clock.ts'
import { HOUR_MILLISECONDS } from '#src/lib/duration.ts'
import { bounded, message } from '#src/lib/messages/message.ts'
import { NOT_LISTED } from '#src/lib/refused-limits.ts'
import { every } from '#src/lib/time/every.ts'
import type { AuditEvent, AuditStore, NewRefusals } from '#src/store/store.ts'
import { NO_REQUEST, whyNotRecorded } from './actions.ts'
import { createRefusalCounts } from './refusal-counts.ts'
import { createRefusalWindow, type NotListed, type Refusal } from './refusal-window.ts'

export type Refusals = ReturnType<typeof createRefusals>

/** Refusals that wait because they could not be written. */
export interface Behind {
  /** When that failed first, in milliseconds since 1970. */
  readonly since: number
  readonly reason: string
  /** How many events wait. */
  readonly waiting: number
}

const WINDOW_MILLISECONDS = 60_000
const WRITE_AFTER_MILLISECONDS = 1_000
/** Limits of the queue while the store is away; further refusals are only counted. Half of it is for known API keys. */
const MAX_WAITING = 1_000
const MAX_WAITING_UNAUTHENTICATED = MAX_WAITING / 2
const MAX_REASON_LENGTH = 200
/** A longer message to a supplier becomes the beginning of its text before it comes here. */
export const MAX_MESSAGE_LENGTH = 500

/** Queues refused requests and writes them every second, up to a limit a minute. */
export function createRefusals(
  audit: AuditStore,
  clock: Clock,
  newId: (nowMilliseconds: number) => string,
  onFailed: (error: unknown) => void,
) {
  let waiting: AuditEvent[] = []
  const counts = createRefusalCounts()
  let window = createRefusalWindow()
  let beganAt = Number.NEGATIVE_INFINITY
  let behind: Omit<Behind, 'waiting'> | undefined

  const endWindow = (): void => {
    for (const { action, ...details } of window.counted()) {
      waiting.push({ ...NO_REQUEST, customerId: null, at: clock.now(), actor: 'api', action, details })
    }
    for (const overflow of window.notListed()) {
      waiting.push(notListedEvent(overflow, clock.now(), newId(clock.now())))
    }
    window = createRefusalWindow()
    beganAt = clock.monotonic()
  }
  const endWindowInTime = (): void => {
    if (clock.monotonic() - beganAt >= WINDOW_MILLISECONDS) endWindow()
  }

  const write = async (): Promise<void> => {
    const written = waiting
    const counted = counts.take()
    if (written.length === 0 && counted.length === 0) return
    waiting = []
    try {
      await audit.append(written, counted)
      behind = undefined
    } catch (error) {
      behind = { since: behind?.since ?? clock.now(), reason: whyNotRecorded(error) }
      counts.add(counted)
      waiting = [...written, ...waiting]
      onFailed(error)
    }
  }
  const flush = (): Promise<void> => {
    endWindowInTime()
    return write()
  }

  const writing = every({
    firstMilliseconds: WRITE_AFTER_MILLISECONDS,
    async work() {
      await flush()
      return waiting.length > 0 || counts.some() || window.hasCounted() ? WRITE_AFTER_MILLISECONDS : undefined
    },
    onFailed: () => WRITE_AFTER_MILLISECONDS,
  })

  return {
    /** Only queues: the request does not wait for the store. Returns the id of a delivery that is recorded, not only counted. */
    record(refusal: Refusal) {
      endWindowInTime()
      writing.start()
      const now = clock.now()
      counts.add([counted(refusal, now)])
      const limit = refusal.keyId === null ? MAX_WAITING_UNAUTHENTICATED : MAX_WAITING
      if (waiting.length >= limit) window.count(refusal)
      else if (window.admit(refusal)) {
        const refusalId = refusal.delivery && newId(now)
        waiting.push(toEvent(refusal, now, refusalId ?? null))
        return refusalId
      }
      return undefined
    },
    /** Whether the last write has failed. */
    behind: (): Behind | undefined => behind && { ...behind, waiting: waiting.length },
    /** Writes what is queued. */
    flush,
    /** Writes what is queued and the counts of what was not recorded. */
    async close() {
      await writing.stop()
      endWindow()
      await write()
    },
  }
}

const counted = ({ action, errorCode, customerId }: Refusal, at: number): NewRefusals => ({
  hour: Math.floor(at / HOUR_MILLISECONDS),
  customerId,
  action,
  errorCode,
  count: 1,
})

function toEvent(refusal: Refusal, at: number, refusalId: string | null): AuditEvent {
  const { action, errorCode, reason, customerId, keyId, address, requestId } = refusal
  const delivery = refusal.delivery?.()
  const details = {
    errorCode,
    ...(reason !== null && { reason: bounded(reason, MAX_REASON_LENGTH) }),
    // Only a customer reads it.
    ...(delivery && customerId !== null && { message: delivery.message }),
  }
  const { orderId = null } = delivery ?? {}
  return { at, actor: 'api', action, customerId, address, requestId, refusalId, orderId, keyId, details }
}

/** Stands among the refusals of the customer, which would otherwise take the list for complete. */
function notListedEvent({ customerId, notRecorded, errorCodes }: NotListed, at: number, refusalId: string): AuditEvent {
  const codes = Object.entries(errorCodes).map(([code, count]) => `${count} ${code}`)
  const details = {
    errorCode: NOT_LISTED,
    message: bounded(message(NOT_LISTED, { count: notRecorded, codes }), MAX_MESSAGE_LENGTH),
    notRecorded,
    errorCodes,
  }
  return { ...NO_REQUEST, at, actor: 'api', action: 'delivery.refused', customerId, refusalId, details }
}
