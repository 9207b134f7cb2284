import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError } from '#src/lib/app-error.ts'
import { refuseRootIn } from '#src/lib/folder-of-another.ts'
import { oneLine } from '#src/lib/printable.ts'
import { storeErrors } from '../../store.errors.ts'
import type { FileLocks } from '../../store.ts'
import { isBusy } from '../failures.ts'
import { createStoreFile, existingFile, realPath, type WatchedFile } from '../store-file.ts'
import { holdsLock, otherWriters } from './file-locks.ts'

/** Keeps servers off a store until this process ends, however it ends. */
export interface ServerLock {
  release(): void
}

/**
 * The path of a small database beside the store. A server, or a copy, holds SQLite's write lock on it; Linux, macOS and Windows drop the
 * lock with the process. The file remains and means nothing without the lock; its row says who holds the lock.
 */
export const lockPath = (path: string): string => `${realPath(path)}-server`

/** `serverOn` takes the lock for a moment too, so a server that starts meanwhile waits this long. */
const LOOK_MILLISECONDS = 500

/** Throws STORE_IN_USE, naming the holder, when another process has the lock. `prefix` names the command and comes before the name of this process; a server has none. */
export function lockForServer(path: string, now: number, prefix = ''): ServerLock {
  const file = lockPath(path)
  refuseRootIn(dirname(file))
  createStoreFile(file, path)
  const lock = new DatabaseSync(existingFile(file), { timeout: LOOK_MILLISECONDS })
  const self = `${prefix}process ${process.pid} on ${hostname()}, since ${new Date(now).toISOString()}`
  try {
    try {
      take(lock)
      sign(lock, self)
    } catch (error) {
      if (isBusy(error)) throw error
      // The lock is what counts, and without a journal it needs no room on the disk.
      if (lock.isTransaction) lock.exec('ROLLBACK')
      lock.exec(WITHOUT_JOURNAL)
    }
    take(lock)
    return { release: () => lock.close() }
  } catch (error) {
    const found = isBusy(error) ? holderIn(lock) : undefined
    const holder = found === self ? ANOTHER : found
    lock.close()
    if (holder === undefined) throw error
    throw new AppError(storeErrors.inUse, {
      message: `The store ${path} is in use by ${holder}. Stop that process first.${prefix === '' ? ' Several servers need PostgreSQL.' : ''}`,
    })
  }
}

/** Returns which server works on a store; undefined for none, or if that cannot be found out. */
export function serverOn(path: string): string | undefined {
  let lock: DatabaseSync | undefined
  try {
    lock = new DatabaseSync(existingFile(lockPath(path)))
    take(lock)
    return undefined
  } catch (error) {
    return lock !== undefined && isBusy(error) ? holderIn(lock) : undefined
  } finally {
    lock?.close()
  }
}

/** Tells which processes hold locks on the store's own files, as far as this machine shows it. */
export async function locksOn(path: string, files: readonly WatchedFile[]): Promise<FileLocks> {
  const [, pid, host] = HOLDER.exec(serverOn(path) ?? '') ?? []
  const server = host === hostname() ? pid : undefined
  const ofServer = server === undefined ? null : await holdsLock(server, realPath(path))
  return { ofServer, writers: await otherWriters(files, server) }
}

/** What a holder writes about itself. */
const HOLDER = /process (\d+) on (\S+),/

/** Takes the write lock. Others may still read. */
const take = (lock: DatabaseSync): void => lock.exec('BEGIN IMMEDIATE')

const WITHOUT_JOURNAL = 'PRAGMA journal_mode = MEMORY'

/** Writes who has the lock, and ends it for a moment. Only the first name needs room: later ones take its place. */
function sign(lock: DatabaseSync, self: string): void {
  lock.exec(`CREATE TABLE IF NOT EXISTS server (holder TEXT NOT NULL) STRICT; COMMIT; ${WITHOUT_JOURNAL}`)
  take(lock)
  lock.exec('DELETE FROM server')
  lock.prepare('INSERT INTO server VALUES (?)').run(self)
  lock.exec('COMMIT')
}

/** A process that has the lock but has not written its name yet. */
const ANOTHER = 'another process'

function holderIn(lock: DatabaseSync): string {
  try {
    return oneLine(String(lock.prepare('SELECT holder FROM server').get()?.holder ?? ANOTHER))
  } catch {
    return ANOTHER
  }
}
