/** What a batcher is told of its work. */
export interface BatcherOptions<Item, Outcome> {
  /**
   * Commits a batch and resolves to an outcome for each item, in their order; an error for one that failed by itself. Should
   * have given up by `deadline`.
   */
  readonly commit: (batch: readonly Item[], deadline: number) => Promise<readonly (Outcome | Error)[]>
  readonly bytesOf: (item: Item) => number
  /** With two, the second waits where the first one commits, which then never waits for us. They must commit in order. */
  readonly mostUnderWay: 1 | 2
  readonly maxItems: number
  readonly maxBytes: number
  /** Made when an item finds the queue full, or has waited in it for too long. */
  readonly whenFull: () => Error
  readonly longestWaitMilliseconds: number
  readonly monotonic: () => number
}

export interface Batcher<Item, Outcome> {
  /** Resolves once the batch that the item went into is committed. */
  submit(item: Item): Promise<Outcome>
  /** Resolves once nothing waits and nothing is under way. */
  drained(): Promise<void>
}

interface Waiting<Item, Outcome> {
  readonly item: Item
  /** When it stops waiting. */
  readonly deadline: number
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

/** A batch this large is worth a commit by itself; a smaller one waits for the turn in which nothing more arrives. */
const WORTHWHILE = 24

const EXPIRE_EVERY_MILLISECONDS = 100

/** The share of the queue that one batch may take, so that the next can form while it commits. */
const BATCH_ITEMS = 512
const BATCH_BYTES = 8 * 1024 * 1024

/**
 * Group commit. What is submitted while a batch commits forms the next one. An idle batcher waits for the end of the event
 * loop's turn, so that what arrives together goes together, and no timer ever runs.
 */
export function createBatcher<Item, Outcome>(options: BatcherOptions<Item, Outcome>): Batcher<Item, Outcome> {
  const { commit, bytesOf, mostUnderWay, maxItems, maxBytes, whenFull, longestWaitMilliseconds, monotonic } = options
  let queue: Waiting<Item, Outcome>[] = []
  let queuedBytes = 0
  let underWay = 0
  let looking = false
  let expiring: NodeJS.Timeout | undefined
  let idle = Promise.withResolvers<void>()
  idle.resolve()

  const takeBatch = (): Waiting<Item, Outcome>[] => {
    let bytes = 0
    let count = 0
    for (const { item } of queue) {
      bytes += bytesOf(item)
      if (count > 0 && (count === BATCH_ITEMS || bytes > BATCH_BYTES)) break
      count++
    }
    const batch = count === queue.length ? queue : queue.slice(0, count)
    queue = count === queue.length ? [] : queue.slice(count)
    return batch
  }

  const commitBatch = async (): Promise<void> => {
    turnAwayLate()
    if (queue.length === 0) {
      if (underWay === 0) idle.resolve()
      return
    }
    underWay++
    const batch = takeBatch()
    expireLater()
    try {
      const deadline = batch[0]?.deadline ?? monotonic()
      const outcomes = await commit(
        batch.map(({ item }) => item),
        deadline,
      )
      for (const [index, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[index] as Outcome | Error
        if (outcome instanceof Error) reject(outcome)
        else resolve(outcome)
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    for (const { item } of batch) queuedBytes -= bytesOf(item)
    underWay--
    if (queue.length > 0) lookAfter(0)
    else if (underWay === 0) idle.resolve()
  }

  /** Turns away what has waited for too long, the first first. Nothing of it was handed over. */
  const turnAwayLate = (): void => {
    const now = monotonic()
    if (queue[0] === undefined || queue[0].deadline > now) return
    const kept = queue.findIndex(({ deadline }) => deadline > now)
    const late = queue.splice(0, kept < 0 ? queue.length : kept)
    for (const { item, reject } of late) {
      queuedBytes -= bytesOf(item)
      reject(whenFull())
    }
  }

  const expire = (): void => {
    expiring = undefined
    // Where nothing is under way what waits is about to be committed.
    if (underWay > 0) turnAwayLate()
    expireLater()
  }

  /** One timer for all, only while something waits behind a commit. */
  const expireLater = (): void => {
    if (expiring === undefined && underWay > 0 && queue.length > 0)
      expiring = setTimeout(expire, EXPIRE_EVERY_MILLISECONDS)
  }

  /** Commits at once what is worth it, and the rest after the first turn in which nothing was added. */
  const lookAfter = (seen: number): void => {
    const { length } = queue
    if (underWay === mostUnderWay || (underWay > 0 && length < WORTHWHILE)) return
    if (length >= WORTHWHILE || (length > 0 && length === seen)) void commitBatch()
    else if (length > 0 && !looking) {
      looking = true
      setImmediate(() => {
        looking = false
        lookAfter(length)
      })
    }
  }

  return {
    submit(item) {
      const bytes = bytesOf(item)
      // One item of any size is taken by an empty queue.
      const full = queue.length >= maxItems || (queuedBytes > 0 && queuedBytes + bytes > maxBytes)
      if (full) return Promise.reject(whenFull())
      if (queue.length === 0 && underWay === 0) idle = Promise.withResolvers()
      queuedBytes += bytes
      const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
      queue.push({ item, resolve, reject, deadline: monotonic() + longestWaitMilliseconds })
      lookAfter(0)
      expireLater()
      return promise
    },
    drained: () => idle.promise,
  }
}
