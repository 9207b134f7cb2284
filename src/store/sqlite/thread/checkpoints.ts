import { Worker } from 'node:worker_threads'
import { createWorkerClient } from '#src/lib/worker/client.ts'
import type { Database, Row } from '../database.ts'

const THREAD = new URL('./checkpoint-worker.ts', import.meta.url)

/** Parts of the log's greatest size. */
const ENOUGH = 1 / 4
const LITTLE = 1 / 64

const SIZES = 'PRAGMA wal_checkpoint(NOOP)'
const COPY = 'PRAGMA wal_checkpoint(PASSIVE)'

/** Pages in the log, and how many of them have been copied into the file. */
interface Sizes {
  readonly log: number
  readonly checkpointed: number
}

/**
 * Another thread copies the log into the file while the writer goes on. The log begins again when all of it is copied, so the writer
 * copies the little that is left in the end, between two commits. Where the thread fails or falls behind, the log grows to its greatest
 * size, and from then on SQLite copies it within commits.
 */
export function createCheckpoints(
  database: Database,
  spawn = () => new Worker(THREAD, { name: 'checkpoints', workerData: { path: database.path } }),
) {
  const thread = createWorkerClient<null, string>({
    name: 'the checkpoint thread',
    spawn,
    onDeath: (cause) => cause,
    onFailure: (message) => new Error(message),
  })
  const most = database.get('PRAGMA wal_autocheckpoint')?.wal_autocheckpoint as number
  const enough = most * ENOUGH
  let expected = false
  let copying = false
  /** The pages in the log when it could not be copied, because somebody reads an old state or the disk is full. */
  let gaveUpAt = Number.POSITIVE_INFINITY

  const sizes = (): Sizes => database.get(SIZES) as unknown as Sizes

  /** Returns whether all of the log was copied. */
  const copy = async (): Promise<boolean> => {
    for (let before = 0; ; ) {
      await thread.ask(null)
      const { log, checkpointed } = sizes()
      if (log - checkpointed <= most * LITTLE) break
      if (checkpointed <= before) return false
      before = checkpointed
    }
    const { busy } = database.get(COPY) as Row
    return busy === 0
  }

  const consider = async (): Promise<void> => {
    const { log, checkpointed } = sizes()
    const isTooSoon = log >= gaveUpAt && log < gaveUpAt + enough
    if (isTooSoon || log - checkpointed < enough) return
    copying = true
    const succeeded = await copy().catch(() => false)
    copying = false
    gaveUpAt = succeeded ? Number.POSITIVE_INFINITY : log
  }

  return {
    /** Looks at the log once the commit is answered. A failure is no failure of the commit, which is in the log. */
    afterCommit(): void {
      if (expected || copying) return
      expected = true
      setImmediate(() => {
        expected = false
        consider().catch(() => undefined)
      })
    },
    /** Ends the thread, which would keep this one from ending. Resolves when its connection is closed. */
    close: thread.terminate,
  }
}
