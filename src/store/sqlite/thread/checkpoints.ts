import { AppError, reasonOf } from '#src/lib/app-error.ts'
import { monotonicMilliseconds } from '#src/lib/clock.ts'
import { startThread } from '#src/lib/program-files.ts'
import { createWorkerClient } from '#src/lib/worker/client.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { Database } from '../database.ts'
import { type LogRoom, logRoom, mostBytesOfLog } from '../disk-use.ts'
import { FULL_REASON, LOG_REASON } from '../failures.ts'
import { realPath } from '../store-file.ts'

/** Parts of the pages at which SQLite copies the log within a commit. */
const ENOUGH = 1 / 4
const LITTLE = 1 / 64

const SIZES = 'PRAGMA wal_checkpoint(NOOP)'
const COPY = 'PRAGMA wal_checkpoint(PASSIVE)'
const COPY_AND_CUT = 'PRAGMA wal_checkpoint(TRUNCATE)'

/** A page in the log, with its head. */
const BYTES_OF_PAGE = 4096 + 24

const MIB = 1024 * 1024
/** Below its bound the log has this left: for what the writer does besides deliveries, and for deliveries beside their own bytes. */
const MIN_BYTES = MIB / 4
const MIN_BYTES_FOR_DELIVERIES = MIB
/** A disk that was full has room again once it has more than deliveries need, so that the answer does not change with each of them. */
const ENOUGH_BYTES_AGAIN = 2 * MIB

/** With less than this left, the log and its disk are looked at after every commit. */
const LITTLE_BYTES = 64 * MIB
const LOOK_EVERY_MILLISECONDS = 250
/** Each try writes again what can be written, or keeps the writer waiting for readers. */
const RETRY_MILLISECONDS = 1000

/** Pages in the log, and how many of them have been copied into the file. */
interface Sizes {
  readonly log: number
  readonly checkpointed: number
}

export type Checkpoints = ReturnType<typeof createCheckpoints>

/**
 * Another thread copies the log into the file while the writer goes on. The log begins again when all of it is copied, so the writer
 * copies the little that is left in the end, between two commits. Where the thread fails or falls behind, SQLite copies the log within
 * commits. A log that cannot be copied, because the disk is full or somebody reads an old state, is tried again by time, and nothing is
 * written that would take it beyond its bound.
 */
export function createCheckpoints(
  database: Database,
  spawn = () =>
    startThread('store/sqlite/thread/checkpoint-worker', { name: 'checkpoints', workerData: { path: database.path } }),
) {
  const thread = createWorkerClient<null, string>({
    name: 'the checkpoint thread',
    spawn,
    onDeath: (cause) => cause,
    onFailure: (message) => new Error(message),
  })
  const real = realPath(database.path)
  const most = database.get('PRAGMA wal_autocheckpoint')?.wal_autocheckpoint as number
  let expected = false
  let copying = false
  let closed = false
  let timer: NodeJS.Timeout | undefined

  let room: LogRoom = { file: 0, wal: 0, free: 0 }
  let lookedAt = Number.NEGATIVE_INFINITY
  /** Pages that have not been copied, with those that deliveries may have added since the last look. */
  let waiting = 0
  /** Bytes by which the log may grow. */
  let left = 0
  /** Whether what was admitted last are deliveries, whose bytes are known. */
  let isKnown = false

  /** Why the last copy failed, and the free bytes then. */
  let failure: { readonly reason: string; readonly free: number } | undefined
  /** Whether the last copy left something because of a reader. */
  let isHeld = false
  let retryAt = Number.NEGATIVE_INFINITY

  const sizes = (): Sizes => database.get(SIZES) as unknown as Sizes

  const isOld = (): boolean => left < LITTLE_BYTES || monotonicMilliseconds() - lookedAt >= LOOK_EVERY_MILLISECONDS

  const look = (): void => {
    const { log, checkpointed } = sizes()
    if (isOld()) {
      lookedAt = monotonicMilliseconds()
      room = logRoom(real)
    }
    waiting = log - checkpointed
    left = mostBytesOfLog(room) - log * BYTES_OF_PAGE
  }

  const isFull = (): boolean => failure?.reason.startsWith(FULL_REASON) === true
  /** Whether the log must be cut, and not only begin again, to give room back. */
  const isTight = (): boolean => left < MIN_BYTES_FOR_DELIVERIES || room.wal > mostBytesOfLog(room)

  const isDue = (): boolean => {
    const enough = Math.min(most * ENOUGH, mostBytesOfLog(room) / BYTES_OF_PAGE / 2)
    return waiting >= Math.max(enough, most * LITTLE) || (isTight() && room.wal > 0)
  }

  /** Returns whether all of the log was copied. */
  const copy = async (): Promise<boolean> => {
    for (let before = 0; ; ) {
      await thread.ask(null)
      const { log, checkpointed } = sizes()
      if (log - checkpointed <= most * LITTLE) break
      if (checkpointed <= before) return false
      before = checkpointed
    }
    const { log, checkpointed } = database.get(COPY) as unknown as Sizes
    if (checkpointed < log || !isTight()) return true
    return database.get(COPY_AND_CUT)?.busy === 0
  }

  /** Copies the log if it is time to. What remains to do is done later. */
  const consider = async (): Promise<void> => {
    if (copying || closed) return
    look()
    if (isDue() && (monotonicMilliseconds() >= retryAt || hasMoreRoom())) {
      copying = true
      const outcome = await copy().catch((error: unknown) => error)
      copying = false
      if (closed) return
      isHeld = outcome === false
      retryAt = outcome === true ? Number.NEGATIVE_INFINITY : monotonicMilliseconds() + RETRY_MILLISECONDS
      lookedAt = Number.NEGATIVE_INFINITY
      look()
      failure = typeof outcome === 'boolean' ? undefined : { reason: reasonOf(outcome), free: room.free }
    }
    if (isDue()) later()
    else failure = undefined
  }

  const hasMoreRoom = (): boolean => failure !== undefined && isFull() && room.free > failure.free

  const later = (): void => {
    if (!closed)
      timer ??= setTimeout(() => {
        timer = undefined
        soon()
      }, LOOK_EVERY_MILLISECONDS).unref()
  }

  const soon = (): void => {
    if (expected || copying) return
    expected = true
    setImmediate(() => {
      expected = false
      consider().catch(later)
    })
  }

  const refusal = (): AppError => {
    const why = failure?.reason ?? (isHeld ? 'somebody reads an old state' : FULL_REASON)
    const isFull = room.free < MIN_BYTES_FOR_DELIVERIES || why.startsWith(FULL_REASON)
    return new AppError(storeErrors.unavailable, { reason: isFull ? FULL_REASON : `${LOG_REASON}: ${why}` })
  }

  const admit = (bytes: number, isRefused: () => boolean = () => false): void => {
    if (left >= bytes && !isRefused()) return
    look()
    soon()
    if (left < bytes || isRefused()) throw refusal()
  }

  return {
    /** Throws unless the log may take any write but deliveries. */
    admit(): void {
      isKnown = false
      admit(MIN_BYTES)
    },
    /** Throws unless the log may take deliveries of so many bytes. */
    admitDeliveries(bytes: number): void {
      admit(MIN_BYTES_FOR_DELIVERIES + bytes, isFull)
      isKnown = true
      left -= bytes
      waiting += bytes / BYTES_OF_PAGE
    },
    /** Throws unless deliveries would find room: a page may fit where none of them does. */
    admitProbe: (wasFull: boolean) => admit(wasFull ? ENOUGH_BYTES_AGAIN : MIN_BYTES_FOR_DELIVERIES, isFull),
    /**
     * Looks at the log once the commit is answered, after deliveries only now and then: a look costs a turn of the event loop. A failure is no
     * failure of the commit, which is in the log.
     */
    afterCommit(): void {
      if (!isKnown || isOld() || isDue()) soon()
    },
    /** Whether the event loop has something to do: it is expected to look at the log, or a copy is under way or tried again later. */
    needsTurn: () => expected || copying || timer !== undefined,
    /** Ends the thread, which would keep this one from ending. Resolves when its connection is closed. */
    async close(): Promise<void> {
      closed = true
      clearTimeout(timer)
      await thread.terminate()
    },
  }
}
