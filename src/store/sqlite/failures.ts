import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '../store.errors.ts'

const BUSY = 5
export const LOCK_REASON = 'another process holds its lock'
export const FULL_REASON = 'its disk is full'
export const LOG_REASON = 'its log has reached its bound and cannot be copied into the file'

/** Explains SQLite's result codes to operators. An extended code without an entry is looked up by its primary code. */
const REASONS: Readonly<Record<number, string>> = {
  [BUSY]: LOCK_REASON,
  6: 'another connection holds its lock',
  8: 'its file cannot be written to',
  10: 'its disk reports an error',
  11: 'its file is damaged',
  13: FULL_REASON,
  14: 'its file cannot be opened',
  15: 'its file is locked in a way that SQLite does not know',
  23: 'access to its file is denied',
  26: 'its file is not a database',
  1034: 'an fsync of its file failed: check the disk before the next start',
  1290: 'an fsync of its folder failed: check the disk before the next start',
  4874: `${FULL_REASON}: it has no room for the file that ends in -shm`,
}

/**
 * SQLITE_IOERR_FSYNC and SQLITE_IOERR_DIR_FSYNC. Linux reports a failed fsync once and then considers the pages written, so this
 * process may read what the disk does not hold.
 */
const FAILED_SYNCS = new Set([1034, 1290])

/** Returns SQLite's result code, without what an extended code adds to it; 0 for other errors. */
export function resultOf(error: unknown): number {
  const { errcode = 0 } = ((error instanceof AppError ? error.cause : error) ?? {}) as { errcode?: number }
  return errcode & 0xff
}

/** Whether another process holds a lock, or has committed since the transaction began to read. */
export const isBusy = (error: unknown): boolean => resultOf(error) === BUSY

export function translated(cause: unknown): unknown {
  const { code, errcode = 0, message } = cause as Error & { code?: string; errcode?: number }
  const reason = code === 'ERR_INVALID_STATE' ? 'it is closed' : (REASONS[errcode] ?? REASONS[errcode & 0xff])
  if (reason === undefined) return cause
  const definition = FAILED_SYNCS.has(errcode) ? storeErrors.gone : storeErrors.unavailable
  return new AppError(definition, { reason: `${reason} (${message})`, cause })
}

export function guard<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw translated(error)
  }
}
