import { AppError } from '#src/lib/app-error.ts'
import { sharedWork } from '#src/lib/shared-work.ts'
import { storeErrors } from '../store.errors.ts'
import { isLockReason } from './database.ts'
import { otherWriters } from './file-locks.ts'
import { monotonicMilliseconds } from './monotonic.ts'
import type { FileId } from './store-file.ts'
import type { Writer } from './writer.ts'

export interface AttendedWriter extends Writer {
  /** Resolves if something was written a short while ago or can be now; rejects with the reason. */
  prove(): Promise<void>
}

/** What was written this recently proves that more can be. */
const PROOF_MILLISECONDS = 10_000

/** A writer that remembers whether its last work succeeded, and finds out who holds the lock it waited for. */
export function attend(writer: Writer, files: readonly FileId[]): AttendedWriter {
  let wroteAt = Number.NEGATIVE_INFINITY

  const explained = async (error: unknown): Promise<unknown> => {
    const reason = error instanceof AppError ? error.details.reason : undefined
    if (reason === undefined || !isLockReason(reason)) return error
    const holders = await otherWriters(files)
    if (holders.length === 0) return error
    return new AppError(storeErrors.unavailable, { reason: `${reason}: ${holders.join(', ')}`, cause: error })
  }

  const run: Writer['run'] = async (...operation) => {
    try {
      const result = await writer.run(...operation)
      wroteAt = monotonicMilliseconds()
      return result
    } catch (error) {
      if (error instanceof AppError) wroteAt = Number.NEGATIVE_INFINITY
      throw await explained(error)
    }
  }

  const probe = sharedWork(() => run('probe', []))

  return {
    run,
    close: () => writer.close(),
    async prove() {
      if (monotonicMilliseconds() - wroteAt > PROOF_MILLISECONDS) await probe()
    },
  }
}
