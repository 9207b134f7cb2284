import { linkSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError } from '#src/lib/app-error.ts'
import { otherHolders } from '../sqlite/locks/file-locks.ts'
import { existingFile, KEPT, removeSecondName, syncFolder, watchedFiles } from '../sqlite/store-file.ts'
import { storeErrors } from '../store.errors.ts'
import { isThere, syncFile } from './backup-files.ts'

const LOGS = ['-wal', '-journal']

/**
 * Puts a file in the place of the store at `real`, in one step, and returns the path under which the old store is kept; null if
 * there was none. At every moment there is a whole store under the name, and no log of another one beside it.
 */
export async function replaceStore(replacement: string, real: string, now: number): Promise<string | null> {
  syncFile(replacement)
  removeSecondName(real)
  const size = statSync(real, { throwIfNoEntry: false })?.size
  // A file without a byte is no store; SQLite would delete a log beside it.
  const folded = size === undefined || size === 0 ? undefined : await foldLog(real)
  try {
    const logs = folded === undefined ? LOGS.filter((log) => isThere(real + log)) : []
    const old = [...(size === undefined || (size === 0 && logs.length === 0) ? [] : ['']), ...logs]
    const kept = keptPath(real, now)
    for (const part of old) linkSync(real + part, kept + part)
    // There are logs only beside a file that SQLite cannot read, which nobody can use without them by mistake.
    for (const log of [...logs, '-shm']) rmSync(real + log, { force: true })
    renameSync(replacement, real)
    syncFolder(dirname(real))
    return old.length === 0 ? null : kept
  } finally {
    folded?.close()
  }
}

/** The name sorts by time. */
const keptPath = (real: string, now: number): string => real + KEPT + new Date(now).toISOString().replace(/[-:]/g, '')

/** Results of SQLite for a file that it cannot read: damaged, and no database. */
const UNREADABLE = [11, 26]
const BUSY = 5

/**
 * Writes the log into the file and removes it. Returns the connection, which keeps all others from using the file; undefined if
 * SQLite cannot read the file.
 */
async function foldLog(real: string): Promise<DatabaseSync | undefined> {
  const database = new DatabaseSync(existingFile(real), { timeout: 5000 })
  try {
    database.exec('PRAGMA journal_mode = DELETE')
    database.exec('BEGIN EXCLUSIVE')
    if (database.prepare('PRAGMA journal_mode').get()?.journal_mode !== 'delete' || isThere(`${real}-wal`))
      throw await inUse(real)
    return database
  } catch (error) {
    database.close()
    const code = ((error as { errcode?: number }).errcode ?? 0) & 0xff
    if (UNREADABLE.includes(code)) return undefined
    throw code === BUSY ? await inUse(real) : error
  }
}

async function inUse(real: string): Promise<AppError> {
  const holders = await otherHolders(watchedFiles(real))
  const who = holders.length === 0 ? 'another process' : holders.join(', ')
  return new AppError(storeErrors.inUse, {
    message: `The store ${real} is open in ${who}. End that first; nothing was changed.`,
  })
}
