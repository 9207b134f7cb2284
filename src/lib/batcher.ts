import { createHistogram, type Histogram, SECONDS } from './metrics.ts'
import { type Steps, tracing } from './tracing.ts'

interface BatcherOptions<Item, Outcome> {
  /**
   * Commits a batch by `deadline` and resolves to an outcome for each item, in their order. An item that failed alone has an
   * error as its outcome.
   */
  readonly commit: (batch: readonly Item[], deadline: number) => Promise<readonly (Outcome | Error)[]>
  readonly bytesOf: (item: Item) => number
  readonly maxItems: number
  readonly maxBytes: number
  /** Makes the error for an item that finds the queue full or has waited too long. */
  readonly whenFull: () => Error
  readonly maxWaitMilliseconds: number
  readonly monotonic: () => number
}

/** What a batcher has to do, and what it did. */
export interface BatcherLoad {
  /** Items that wait for a commit to begin. */
  items(): number
  /** Bytes of all items that are not yet committed. */
  bytes(): number
  /** Items in each batch that was committed. */
  readonly maxItems: number
  readonly maxBytes: number
  readonly batchSizes: Histogram
  readonly commitSeconds: Histogram
}

/** Items of which none is committed after an earlier one was rejected with its commit, or was not even passed to one: it gets the same error. */
export interface Sequence {
  /** Whether a commit under way has some of them. All others wait for it, as it may fail. */
  isUnderWay: boolean
  failure: unknown
}

interface Waiting<Item, Outcome> {
  readonly item: Item
  readonly sequence: Sequence | undefined
  /** The time at which it is rejected. */
  readonly deadline: number
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
  readonly steps: Steps | undefined
}

/** A batch of this size is committed at once; a smaller one waits for a turn in which nothing arrives. */
const WORTHWHILE = 24

const EXPIRE_EVERY_MILLISECONDS = 100

/**
 * CoDel (RFC 8289): once every batch taken for STANDING_MILLISECONDS had already waited LONG_WAIT_MILLISECONDS, new items are refused
 * until the queue is empty. The time begins again when the wait has fallen by a tenth: after a pause, the store is catching up.
 */
const LONG_WAIT_MILLISECONDS = 1000
const STANDING_MILLISECONDS = 1000
const CATCHING_UP = 0.9

/** With two commits under way, the next batch is ready when a commit ends. `commit` must keep their order. */
const MAX_UNDER_WAY = 2

/** Limits of one batch, so that the next one forms while it is committed. */
const BATCH_ITEMS = 512
const BATCH_BYTES = 2 * 1024 * 1024

const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

/**
 * Group commit: items that are submitted during a commit form the next batch. When idle it waits for the end of a turn of the
 * event loop, without a timer, so that items that arrive together are committed together.
 */
export function createBatcher<Item, Outcome>(options: BatcherOptions<Item, Outcome>) {
  const { commit, bytesOf, maxItems, maxBytes, whenFull, maxWaitMilliseconds, monotonic } = options
  let queue: Waiting<Item, Outcome>[] = []
  let queuedBytes = 0
  let underWay = 0
  let considering = false
  /** Since when every batch has waited too long; infinity if the last one has not. */
  let standingSince = Number.POSITIVE_INFINITY
  let standingWait = 0
  let expiring: NodeJS.Timeout | undefined
  let idle = Promise.withResolvers<void>()
  idle.resolve()
  const batchSizes = createHistogram(SIZES)
  const commitSeconds = createHistogram(SECONDS)

  const isStanding = (now: number): boolean => now - standingSince > STANDING_MILLISECONDS

  const takeBatch = (): Waiting<Item, Outcome>[] => {
    let bytes = 0
    let count = 0
    for (const { item, sequence } of queue) {
      bytes += bytesOf(item)
      if (count > 0 && (count === BATCH_ITEMS || bytes > BATCH_BYTES)) break
      if (sequence?.isUnderWay) break
      count++
    }
    const batch = count === queue.length ? queue : queue.slice(0, count)
    queue = count === queue.length ? [] : queue.slice(count)
    for (const { sequence } of batch) if (sequence !== undefined) sequence.isUnderWay = true
    return batch
  }

  const commitBatch = async (): Promise<void> => {
    rejectLate()
    const batch = takeBatch()
    if (batch.length === 0) {
      if (underWay === 0) idle.resolve()
      return
    }
    underWay++
    noteWait(batch[0]?.deadline ?? 0)
    if (tracing.current) for (const { steps } of batch) steps?.next('commit')
    expireLater()
    const begun = monotonic()
    try {
      const deadline = batch[0]?.deadline ?? monotonic()
      const outcomes = await commit(
        batch.map(({ item }) => item),
        deadline,
      )
      batchSizes.observe(batch.length)
      commitSeconds.observe((monotonic() - begun) / 1000)
      for (const [index, { resolve, reject, steps }] of batch.entries()) {
        const outcome = outcomes[index] as Outcome | Error
        if (outcome instanceof Error) reject(outcome)
        else resolve(outcome)
        steps?.end(outcome instanceof Error ? outcome : undefined)
      }
    } catch (error) {
      rejectAll(batch, () => error)
    }
    for (const { item, sequence } of batch) {
      queuedBytes -= bytesOf(item)
      if (sequence !== undefined) sequence.isUnderWay = false
    }
    underWay--
    if (queue.length > 0) considerCommit(0)
    else if (underWay === 0) idle.resolve()
  }

  const noteWait = (deadline: number): void => {
    const now = monotonic()
    const waited = now - (deadline - maxWaitMilliseconds)
    const waitsLong = queue.length > 0 && waited >= LONG_WAIT_MILLISECONDS
    if (!waitsLong) standingSince = Number.POSITIVE_INFINITY
    else if (standingSince === Number.POSITIVE_INFINITY || (!isStanding(now) && waited < standingWait * CATCHING_UP)) {
      standingSince = now
      standingWait = waited
    }
  }

  /** Rejects items that have waited too long, in order of arrival. None of them was passed to `commit`. */
  const rejectLate = (): void => {
    const now = monotonic()
    if (queue[0] === undefined || queue[0].deadline > now) return
    const kept = queue.findIndex(({ deadline }) => deadline > now)
    const late = queue.splice(0, kept < 0 ? queue.length : kept)
    rejectQueued(late, whenFull)
  }

  type ErrorOf = (waiting: Waiting<Item, Outcome>) => unknown

  const rejectQueued = (removed: readonly Waiting<Item, Outcome>[], errorOf: ErrorOf): void => {
    if (queue.length === 0) standingSince = Number.POSITIVE_INFINITY
    for (const { item } of removed) queuedBytes -= bytesOf(item)
    rejectAll(removed, errorOf)
  }

  /** Rejects items that have left the queue, and those that follow in their sequences. */
  const rejectAll = (items: readonly Waiting<Item, Outcome>[], errorOf: ErrorOf): void => {
    let mayBeFollowed = false
    for (const waiting of items) {
      const { sequence, reject, steps } = waiting
      const error = errorOf(waiting)
      if (sequence !== undefined) {
        sequence.failure ??= error
        mayBeFollowed = true
      }
      reject(error)
      steps?.end(error)
    }
    if (!mayBeFollowed) return
    const failed = ({ sequence }: Waiting<Item, Outcome>): boolean => sequence?.failure !== undefined
    const followers = queue.filter(failed)
    if (followers.length === 0) return
    queue = queue.filter((waiting) => !failed(waiting))
    rejectQueued(followers, ({ sequence }) => sequence?.failure)
  }

  const expire = (): void => {
    expiring = undefined
    // With no commit under way, what waits is about to be committed.
    if (underWay > 0) rejectLate()
    expireLater()
  }

  /** Runs one timer for all items, only while something waits for a commit to end. */
  const expireLater = (): void => {
    if (expiring === undefined && underWay > 0 && queue.length > 0)
      expiring = setTimeout(expire, EXPIRE_EVERY_MILLISECONDS)
  }

  /** Commits a large batch at once, and a small one after the first turn in which nothing was added. */
  const considerCommit = (lastLength: number): void => {
    const { length } = queue
    if (underWay === MAX_UNDER_WAY || (underWay > 0 && length < WORTHWHILE)) return
    if (length >= WORTHWHILE || (length > 0 && length === lastLength)) void commitBatch()
    else if (length > 0 && !considering) {
      considering = true
      setImmediate(() => {
        considering = false
        considerCommit(length)
      })
    }
  }

  return {
    /** Resolves once the item is committed. */
    submit(item: Item, sequence?: Sequence) {
      if (sequence?.failure !== undefined) return Promise.reject(sequence.failure)
      const bytes = bytesOf(item)
      // An empty queue takes one item of any size.
      const full = queue.length >= maxItems || (queuedBytes > 0 && queuedBytes + bytes > maxBytes)
      const now = monotonic()
      if (full || (queue.length > 0 && isStanding(now))) {
        const error = whenFull()
        if (sequence !== undefined) sequence.failure = error
        return Promise.reject(error)
      }
      if (queue.length === 0 && underWay === 0) idle = Promise.withResolvers()
      queuedBytes += bytes
      const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
      const steps = tracing.current?.begin('queue')
      queue.push({ item, sequence, resolve, reject, steps, deadline: now + maxWaitMilliseconds })
      considerCommit(0)
      expireLater()
      return promise
    },
    /** Resolves once nothing waits and no commit is under way. */
    drained: () => idle.promise,
    load: { items: () => queue.length, bytes: () => queuedBytes, maxItems, maxBytes, batchSizes, commitSeconds },
  }
}
