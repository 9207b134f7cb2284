import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { AppError } from '#src/lib/app-error.ts'
import { monotonicMilliseconds } from '#src/lib/clock.ts'
import { sharedWork } from '#src/lib/shared-work.ts'
import type { Peer } from '#src/lib/worker/client.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { FULL_REASON, LOCK_REASON } from '../database.ts'
import { otherWriters } from '../file-locks.ts'
import type { WatchedFile } from '../store-file.ts'
import type { StoreWatch } from '../store-watch.ts'
import { createStoreThread, type StoreThread } from './operations.ts'

/** The only thread that writes to the file. It answers an operation after its commit. */
export interface Writer extends StoreThread {
  /** Resolves if something was written recently or can be written now; rejects with the reason if not. */
  prove(): Promise<void>
}

export interface WriterData {
  readonly path: string
  /** The files that this process opened first. */
  readonly files: readonly WatchedFile[]
}

export type SpawnWriter = (workerData: WriterData) => Peer

const spawnWorker: SpawnWriter = (workerData) =>
  new Worker(new URL('./writer-worker.ts', import.meta.url), { name: 'writer', workerData })

export interface WriterOptions extends WriterData {
  readonly watch: StoreWatch
  readonly spawn?: SpawnWriter | undefined
  readonly patienceMilliseconds?: number | undefined
}

const PATIENCE_MILLISECONDS = 10_000

/** A write in the last ten seconds proves that the store can be written to. */
const PROOF_MILLISECONDS = 10_000

const LEAST_ROOM_BYTES = 1024 * 1024

export function createWriter(options: WriterOptions): Writer {
  const { path, files, watch, spawn = spawnWorker, patienceMilliseconds = PATIENCE_MILLISECONDS } = options
  const thread = createStoreThread({
    name: 'writer',
    spawn: () => spawn({ path, files }),
    patienceMilliseconds,
    onGone: watch.report,
  })
  let wroteAt = Number.NEGATIVE_INFINITY
  let lastReason: string | undefined

  /** Called before something is written, and before it is confirmed. */
  const refuseIfGone = (): void => {
    const reason = watch.reason()
    if (reason !== undefined) throw new AppError(storeErrors.unavailable, { reason })
  }

  /** Adds who holds the lock that an operation waited for. */
  const explained = async (error: unknown): Promise<unknown> => {
    const reason = error instanceof AppError ? error.details.reason : undefined
    if (reason === undefined || !reason.startsWith(LOCK_REASON)) return error
    const holders = await otherWriters(files)
    if (holders.length === 0) return error
    return new AppError(storeErrors.unavailable, { reason: `${reason}: ${holders.join(', ')}`, cause: error })
  }

  const run: Writer['run'] = async <Result>(...operation: Parameters<Writer['run']>): Promise<Result> => {
    try {
      refuseIfGone()
      const result = await thread.run<Result>(...operation)
      refuseIfGone()
      wroteAt = monotonicMilliseconds()
      lastReason = undefined
      return result
    } catch (error) {
      if (error instanceof AppError) {
        wroteAt = Number.NEGATIVE_INFINITY
        lastReason = error.details.reason
      }
      throw await explained(error)
    }
  }

  const probe = sharedWork(async () => {
    if (lastReason?.startsWith(FULL_REASON)) await refuseWithoutRoom(path)
    await run('ping', 'probe', [])
  })

  return {
    run,
    join: thread.join,
    close: thread.close,
    async prove() {
      if (monotonicMilliseconds() - wroteAt > PROOF_MILLISECONDS) await probe()
    },
  }
}

/** Checked after a full disk, because the probe writes a single page, which may fit where no delivery does. */
async function refuseWithoutRoom(path: string): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(path))
  if (bavail * bsize < LEAST_ROOM_BYTES) throw new AppError(storeErrors.unavailable, { reason: FULL_REASON })
}
