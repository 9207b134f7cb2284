import type { Clock } from '#src/lib/clock.ts'
import type { AuditEvent, AuditStore } from '#src/store/store.ts'
import { createRefusalWindow, type Refusal } from './refusal-window.ts'

export interface Refusals {
  /** Costs the request nothing but a place in memory. */
  record(refusal: Refusal): void
  /** Writes down what waits. */
  flush(): Promise<void>
  /** The same, with the count of what was not kept. */
  close(): Promise<void>
}

const WINDOW_MILLISECONDS = 60_000
const WRITE_AFTER_MILLISECONDS = 1_000
/** For when the store is away; what comes beyond that is only counted. */
const MOST_WAITING = 1_000
const LONGEST_REASON = 200

/** Gathers refused requests and writes them down every second, so many of them a minute at most. */
export function createRefusals(audit: AuditStore, clock: Clock, onFailed: (error: unknown) => void): Refusals {
  let waiting: AuditEvent[] = []
  let window = createRefusalWindow()
  let beganAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined

  const endWindow = (): void => {
    for (const { action, ...details } of window.counted()) {
      waiting.push({ ...nobody, at: clock.now(), actor: 'api', action, details })
    }
    window = createRefusalWindow()
    beganAt = clock.monotonic()
  }
  const endWindowInTime = (): void => {
    if (clock.monotonic() - beganAt >= WINDOW_MILLISECONDS) endWindow()
  }

  const write = async (): Promise<void> => {
    const written = waiting
    if (written.length === 0) return
    waiting = []
    try {
      await audit.append(written)
    } catch (error) {
      waiting = [...written, ...waiting]
      onFailed(error)
    }
  }
  const flush = (): Promise<void> => {
    endWindowInTime()
    return write()
  }

  const arm = (): void => {
    timer ??= setTimeout(async () => {
      await flush()
      timer = undefined
      if (waiting.length > 0 || window.hasCounted()) arm()
    }, WRITE_AFTER_MILLISECONDS).unref()
  }

  return {
    record(refusal) {
      endWindowInTime()
      if (waiting.length >= MOST_WAITING) window.count(refusal)
      else if (window.admit(refusal)) waiting.push(toEvent(refusal, clock.now()))
      arm()
    },
    flush,
    close() {
      clearTimeout(timer)
      endWindow()
      return write()
    },
  }
}

const nobody = { customerId: null, address: null, requestId: null }

function toEvent({ action, errorCode, reason, customerId, address, requestId }: Refusal, at: number): AuditEvent {
  const details = reason === null ? { errorCode } : { errorCode, reason: reason.slice(0, LONGEST_REASON) }
  return { at, actor: 'api', action, customerId, address, requestId, details }
}
