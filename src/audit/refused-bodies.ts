import { AppError } from '#src/lib/app-error.ts'
import type { Metrics } from '#src/lib/metrics.ts'
import { ROW_BYTES } from '#src/lib/refused-limits.ts'
import { oneByOne } from '#src/lib/shared-work.ts'
import { every } from '#src/lib/time/every.ts'
import type { NewRefusedBody, RefusedStore } from '#src/store/store.ts'

export interface RefusedBodiesDependencies {
  readonly refused: RefusedStore
  /** The most that the store keeps; less in tests. */
  readonly maxBytes?: number
  readonly metrics: Metrics
  readonly onFailed: (error: unknown) => void
}

/** The most that the store keeps: a flood of refused bodies must not fill the disk that deliveries need. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024
const WRITE_AFTER_MILLISECONDS = 1_000
/** Limits of what waits, and of what is written in a second. Each body counts `ROW_BYTES` more. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024
const MAX_WRITTEN_BYTES = 2 * 1024 * 1024
/** Deliveries wait for the transaction: that many bodies take some 20 ms in a file. */
const MAX_WRITTEN = 500

/** Queues refused bodies and writes them every second, so that a flood of them costs neither memory nor the disk much. */
export function createRefusedBodies(dependencies: RefusedBodiesDependencies) {
  const { refused, maxBytes = MAX_KEPT_BYTES, metrics, onFailed } = dependencies
  const outcomes = metrics.counter('teslim_refused_bodies_total', 'Bodies of refused deliveries, by outcome.')
  const [kept, removed] = [outcomes({ outcome: 'kept' }), outcomes({ outcome: 'removed' })]
  const dropped = outcomes({ outcome: 'not_kept' })
  let waiting: NewRefusedBody[] = []
  let waitingBytes = 0
  let notKept = 0
  /** Whether the last write removed bodies: there may be more to remove. */
  let removing = false

  const forget = (some: readonly NewRefusedBody[]): void => {
    waiting = waiting.slice(some.length)
    waitingBytes -= sizeOf(some)
  }

  /** Resolves to whether there is more to write at once. */
  const write = oneByOne(async (): Promise<boolean> => {
    const some = firstOf(waiting)
    const counted = notKept
    if (some.length === 0 && counted === 0 && !removing) return false
    notKept = 0
    removing = false
    try {
      const gone = await refused.keep(some, { maxBytes, notKept: counted })
      removing = gone > 0
      forget(some)
      kept.value += some.length
      removed.value += gone
      return waiting.length > 0
    } catch (error) {
      notKept += counted
      // What the store cannot take must not keep the others waiting.
      if (!(error instanceof AppError)) {
        forget(some)
        notKept += some.length
        dropped.value += some.length
      }
      onFailed(error)
      return false
    }
  })

  const writing = every({
    firstMilliseconds: WRITE_AFTER_MILLISECONDS,
    async work() {
      await write()
      return waiting.length > 0 || notKept > 0 || removing ? WRITE_AFTER_MILLISECONDS : undefined
    },
    onFailed: () => WRITE_AFTER_MILLISECONDS,
  })

  return {
    /**
     * Only queues: the request does not wait for the store. If the queue has no room for that many bytes, the body is counted, and `describe` is
     * not called.
     */
    record(bytes: number, describe: () => NewRefusedBody) {
      writing.start()
      const size = bytes + ROW_BYTES
      if (waitingBytes + size > MAX_WAITING_BYTES || size > maxBytes) {
        notKept++
        dropped.value++
        return
      }
      waiting.push(describe())
      waitingBytes += size
    },
    /** Writes some of what is queued. */
    flush: async () => void (await write()),
    /** Writes everything that is queued. */
    async close() {
      await writing.stop()
      while (await write());
    },
  }
}

/** Returns the bodies of one write, and at least one. */
function firstOf(bodies: readonly NewRefusedBody[]): readonly NewRefusedBody[] {
  let bytes = 0
  const beyond = bodies.findIndex(({ payload }, index) => {
    bytes += payload.length + ROW_BYTES
    return (index > 0 && bytes > MAX_WRITTEN_BYTES) || index === MAX_WRITTEN
  })
  return bodies.slice(0, beyond < 0 ? bodies.length : beyond)
}

const sizeOf = (bodies: readonly NewRefusedBody[]): number =>
  bodies.reduce((sum, { payload }) => sum + payload.length + ROW_BYTES, 0)
