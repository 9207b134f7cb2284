import { AppError, reasonOf } from '#src/lib/app-error.ts'
import { sharedWork } from '#src/lib/shared-work.ts'
import { createProof, type Proof } from '#src/store/proof.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { createMemories } from '../deliveries/batch.ts'
import { FULL_REASON, LOCK_REASON, LOG_REASON } from '../failures.ts'
import { otherHolders, otherWriters } from '../locks/file-locks.ts'
import type { WatchedFile } from '../store-file.ts'
import type { StoreWatch } from '../store-watch.ts'
import { createStoreThread, type OpenHere, type SpawnThread, type StoreThread } from './store-thread.ts'

/** The only thread that writes to the file. It answers an operation after its commit. */
export interface Writer extends StoreThread, Pick<Proof, 'prove'> {
  /** Where batches of deliveries are given to it. */
  readonly memories: readonly SharedArrayBuffer[]
}

interface WriterOptions {
  readonly path: string
  /** The files that this process opened first. */
  readonly files: readonly WatchedFile[]
  readonly watch: StoreWatch
  readonly spawn?: SpawnThread | undefined
  readonly here?: OpenHere | undefined
  readonly patienceMilliseconds?: number | undefined
}

const PATIENCE_MILLISECONDS = 10_000

const WITHOUT_ROOM = [FULL_REASON, LOG_REASON]

/** Whether a batch of deliveries wrote something: retries alone change nothing, and wait for no disk. What else is written may not wait either. */
const isStored = (outcomes: unknown): boolean => !Array.isArray(outcomes) || outcomes.includes(null)

export function createWriter(options: WriterOptions): Writer {
  const { path, files, watch, patienceMilliseconds = PATIENCE_MILLISECONDS, ...how } = options
  const onGone = watch.report
  const memories = createMemories()
  const data = { path, files, memories }
  const thread = createStoreThread({ name: 'writer', data, patienceMilliseconds, onGone, ...how })
  /** Since a write found no room until a proof: smaller ones may succeed meanwhile. */
  let isFull = false
  /** Shared, because a log that is at its bound refuses every delivery. */
  const holders = sharedWork(otherHolders)

  /** Called before something is written, and before it is confirmed. */
  const refuseIfGone = (): void => {
    const reason = watch.reason()
    if (reason !== undefined) throw new AppError(storeErrors.unavailable, { reason })
  }

  /** Adds who holds the lock that an operation waited for, or who may read an old state. */
  const explained = async (error: unknown): Promise<unknown> => {
    const reason = reasonOf(error)
    const find = reason.startsWith(LOCK_REASON) ? otherWriters : reason.startsWith(LOG_REASON) ? holders : undefined
    const found = (await find?.(files)) ?? []
    if (found.length === 0) return error
    return new AppError(storeErrors.unavailable, { reason: `${reason}: ${found.join(', ')}`, cause: error })
  }

  const ask: Writer['run'] = async <Result>(...operation: Parameters<Writer['run']>): Promise<Result> => {
    try {
      refuseIfGone()
      const result = await thread.run<Result>(...operation)
      refuseIfGone()
      return result
    } catch (error) {
      if (WITHOUT_ROOM.some((beginning) => reasonOf(error).startsWith(beginning))) isFull = true
      throw await explained(error)
    }
  }

  const proof = createProof({
    async probe(durable) {
      await ask('ping', 'probe', [durable || isFull, isFull])
      isFull = false
    },
    isDoubtful: () => isFull,
    async explain() {
      const writers = await otherWriters(files)
      return writers.length === 0 ? undefined : `${LOCK_REASON}: ${writers.join(', ')}`
    },
    refusal: (reason) => new AppError(storeErrors.unavailable, { reason }),
  })

  return {
    run<Result>(...operation: Parameters<Writer['run']>) {
      const [noun] = operation
      return proof.watch(
        () => ask<Result>(...operation),
        (result) => noun === 'deliveries' && isStored(result),
      )
    },
    memories,
    close: thread.close,
    async prove() {
      await proof.prove()
      refuseIfGone()
    },
  }
}
