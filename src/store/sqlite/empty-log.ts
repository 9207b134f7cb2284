import { monotonicMilliseconds } from '#src/lib/clock.ts'
import { get, type Work } from '../sql/work.ts'
import { SHORT_WAIT_MILLISECONDS } from './database.ts'

/** How long another checkpoint is waited for. */
const PATIENCE_MILLISECONDS = 500
const PAUSE_MILLISECONDS = 5

/**
 * Copies all of the log into the file and cuts it to nothing, so that nothing old is left in it. Returns false while somebody reads an
 * old state, or another checkpoint takes too long.
 */
export function* emptyLog(): Work<boolean> {
  const deadline = monotonicMilliseconds() + PATIENCE_MILLISECONDS
  for (;;) {
    const begun = monotonicMilliseconds()
    if ((yield* get('PRAGMA wal_checkpoint(TRUNCATE)'))?.busy === 0) return true
    // SQLite waits for readers by itself, and keeps all writers waiting meanwhile. It does not wait for another checkpoint.
    const waitedForReaders = monotonicMilliseconds() - begun >= SHORT_WAIT_MILLISECONDS / 2
    if (waitedForReaders || monotonicMilliseconds() >= deadline) return false
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MILLISECONDS)
  }
}
