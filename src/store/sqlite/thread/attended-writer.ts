import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AppError } from '#src/lib/app-error.ts'
import { sharedWork } from '#src/lib/shared-work.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { FULL_REASON, LOCK_REASON } from '../database.ts'
import { otherWriters } from '../file-locks.ts'
import { monotonicMilliseconds } from '../monotonic.ts'
import type { StoreWatch } from '../store-watch.ts'
import type { Writer, WriterData } from './writer.ts'

export interface AttendedWriter extends Writer {
  /** Resolves if something was written a short while ago or can be now; rejects with the reason. */
  prove(): Promise<void>
}

/** What was written this recently proves that more can be. */
const PROOF_MILLISECONDS = 10_000

const LEAST_ROOM_BYTES = 1024 * 1024

/** A writer that remembers whether its last work succeeded, and finds out who holds the lock it waited for. */
export function attend(writer: Writer, { path, files }: WriterData, watch: StoreWatch): AttendedWriter {
  let wroteAt = Number.NEGATIVE_INFINITY
  let lastReason: string | undefined

  const explained = async (error: unknown): Promise<unknown> => {
    const reason = error instanceof AppError ? error.details.reason : undefined
    if (reason === undefined || !reason.startsWith(LOCK_REASON)) return error
    const holders = await otherWriters(files)
    if (holders.length === 0) return error
    return new AppError(storeErrors.unavailable, { reason: `${reason}: ${holders.join(', ')}`, cause: error })
  }

  const run: Writer['run'] = async (...operation) => {
    try {
      refuseIfGone(watch)
      const result = await writer.run(...operation)
      refuseIfGone(watch)
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
    await run('probe', [])
  })

  return {
    run,
    close: () => writer.close(),
    async prove() {
      if (monotonicMilliseconds() - wroteAt > PROOF_MILLISECONDS) await probe()
    },
  }
}

/** Before something is written, and before it is confirmed. */
function refuseIfGone(watch: StoreWatch): void {
  const reason = watch.reason()
  if (reason !== undefined) throw new AppError(storeErrors.unavailable, { reason })
}

/** A single page may still fit into what the log has already, where no delivery does. */
async function refuseWithoutRoom(path: string): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(path))
  if (bavail * bsize < LEAST_ROOM_BYTES) throw new AppError(storeErrors.unavailable, { reason: FULL_REASON })
}
