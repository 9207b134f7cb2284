import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { logRoom, mostBytesOfLog } from '../sqlite/disk-use.ts'
import { existingFile, realPath } from '../sqlite/store-file.ts'
import { megabytes, nothingCopied, requireRoom, syncFile } from './backup-files.ts'

/** 4 MiB. */
const PAGES_AT_ONCE = 1000
const MIB = 1024 * 1024
/** Room for what is written to the log while the copy is made: a fifth of the file, but at least this; and to copy what the log has into the file. */
const MIN_ROOM_FOR_LOG = 64 * MIB
/** With less than this left until the server's log may grow no more, the copy gives way to the server. */
const MIN_ROOM_FOR_STORE = 16 * MIB

/** Copies the store as it is at one moment. `onProgress` may throw to end it. */
export async function copyPages(
  store: string,
  partial: string,
  onProgress: (done: number, all: number) => void,
): Promise<void> {
  const real = realPath(store)
  // It is read-only and stays at one state: a copy that followed the writer would start again at each commit.
  const source = new DatabaseSync(store, { readOnly: true, timeout: 5000 })
  try {
    source.exec('BEGIN')
    const bytes = sizeOf(source)
    requireRoomFor(bytes, real, dirname(partial))
    await backup(source, partial, {
      rate: PAGES_AT_ONCE,
      progress: ({ totalPages, remainingPages }) => {
        onProgress(bytes * (1 - remainingPages / totalPages), bytes)
        const room = logRoom(real)
        if (mostBytesOfLog(room) - room.wal < MIN_ROOM_FOR_STORE)
          throw nothingCopied(
            `the log of the store, which cannot be copied meanwhile, has ${megabytes(room.wal)}, and its disk has ${megabytes(room.free)} left`,
          )
        giveWay(partial)
      },
    })
    emptyLog(store, source)
  } finally {
    source.close()
  }
}

const sizeOf = (source: DatabaseSync): number =>
  source.prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size').get()
    ?.bytes as number

function requireRoomFor(bytes: number, store: string, folder: string): void {
  const storeFolder = dirname(store)
  const forLog = Math.max(bytes / 5, MIN_ROOM_FOR_LOG) + logRoom(store).wal
  const sameDisk = statSync(storeFolder).dev === statSync(folder).dev
  requireRoom(folder, sameDisk ? bytes + forLog : bytes + MIB, 'The backup')
  if (!sameDisk) requireRoom(storeFolder, forLog, "The store's log, which grows while the backup is made,")
}

/** The disk is the server's at least half of the time: its own syncs would wait behind much that is not yet on the disk. */
function giveWay(partial: string): void {
  const start = performance.now()
  syncFile(partial)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, performance.now() - start)
}

/**
 * Moves what was committed during the copy from the log into the store. Otherwise the server's next commit does it, and
 * the others wait: so it does no harm where this fails, such as for an account that may only read the store.
 */
function emptyLog(store: string, source: DatabaseSync): void {
  let log: DatabaseSync | undefined
  try {
    log = new DatabaseSync(existingFile(store), { timeout: 0 })
    const checkpoint = log.prepare('PRAGMA wal_checkpoint(PASSIVE)')
    source.exec('ROLLBACK')
    checkpoint.get()
  } catch {
    // The server does it.
  } finally {
    log?.close()
  }
}
