import { createReadStream, createWriteStream, linkSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pipeline } from 'node:stream/promises'
import { AppError, reasonOf } from '#src/lib/app-error.ts'
import { refuseRootIn } from '#src/lib/folder-of-another.ts'
import { keepServersOff, limitsOf, openToRead, type StoreOptions, sqlitePath } from '../open-store.ts'
import { opening } from '../sqlite/database.ts'
import { isBusy, resultOf } from '../sqlite/failures.ts'
import { otherHolders } from '../sqlite/locks/file-locks.ts'
import { openSqliteStore } from '../sqlite/sqlite-store.ts'
import {
  createStoreFile,
  databaseFiles,
  existingFile,
  REPLACED_MARK,
  realPath,
  removeSecondName,
  stagingPath,
  syncFolder,
  watchedFiles,
} from '../sqlite/store-file.ts'
import { storeErrors } from '../store.errors.ts'
import type { Store } from '../store.ts'
import { isThere, removeDatabase, requireRoom, syncFile } from './backup-files.ts'
import { invalid, openVerified, sizeOfBackup, type VerifiedBackup, type VerifyOptions } from './verify-backup.ts'

interface RestoreOptions extends VerifyOptions {
  /** Absolute. */
  readonly path: string
  /** The store to replace, and how a store is opened. */
  readonly to: StoreOptions
  readonly now: number
  readonly stop: AbortSignal
}

/** A verified copy of a backup that lies ready to replace the store. */
export interface StagedRestore extends Pick<VerifiedBackup, 'digestCompared' | 'hmac'> {
  readonly store: Store
  /** The store to be replaced, if there is one that can be read, or why it cannot be read. */
  readonly replaced: Store | undefined
  readonly notReadable: string | undefined
}

const MIB = 1024 * 1024

/** Reads all of a backup, and changes nothing. */
export const verifyBackup = (path: string, options: VerifyOptions): Promise<VerifiedBackup> => {
  sizeOfBackup(path)
  return openVerified(path, path, options)
}

/**
 * Copies and verifies a backup, lets `work` finish the copy, and then puts it in the place of the store, on which no server can
 * start meanwhile. `kept` is the path under which the old store is kept; null if there was none.
 */
export async function restoreStore<Result>(
  options: RestoreOptions,
  work: (staged: StagedRestore) => Promise<Result>,
): Promise<{ readonly kept: string | null; readonly result: Result }> {
  const { path, to, now, stop } = options
  const bytes = sizeOfBackup(path)
  const target = sqlitePath(to.databaseUrl)
  if (isSame(path, target)) throw invalid(`${path} is the store itself`)
  refuseRootIn(dirname(target))
  opening(target, () => mkdirSync(dirname(target), { recursive: true, mode: 0o700 }))
  const real = opening(target, () => realPath(target))
  const copy = stagingPath(real)
  if (databaseFiles(copy).includes(realPath(path)))
    throw invalid(`${path} has the name that a restore gives to its own copy: give it another name first`)
  const lock = keepServersOff(to, now, 'teslim restore')
  try {
    removeDatabase(copy)
    requireRoom(dirname(real), bytes + MIB, 'The restored store')
    createStoreFile(copy)
    await pipeline(createReadStream(path, { highWaterMark: MIB }), createWriteStream(copy, { flags: 'r+' }), {
      signal: stop,
    })
    const result = await finishCopy(copy, options, work)
    stop.throwIfAborted()
    return { kept: await replaceStore(copy, real, now), result }
  } catch (error) {
    throw error instanceof AppError ? error : invalid(stop.aborted ? 'it was interrupted' : (error as Error).message)
  } finally {
    removeDatabase(copy)
    lock.release()
  }
}

async function finishCopy<Result>(
  copy: string,
  options: RestoreOptions,
  work: (staged: StagedRestore) => Promise<Result>,
): Promise<Result> {
  const { path, to, now, stop, onProgress } = options
  const verified = await openVerified(copy, path, {
    ...options,
    onProgress(done, all) {
      stop.throwIfAborted()
      onProgress(done, all)
    },
  })
  await verified.store.close()
  const { digestCompared, hmac } = verified
  const { store } = await openSqliteStore({ path: copy, now, limits: limitsOf(to) })
  try {
    const { replaced, notReadable } = await openReplaced(to)
    try {
      return await work({ store, digestCompared, hmac, replaced, notReadable })
    } finally {
      await replaced?.close()
    }
  } finally {
    await store.close()
  }
}

/** A store that cannot be read is often the reason for a restore. */
async function openReplaced(to: StoreOptions): Promise<Pick<StagedRestore, 'replaced' | 'notReadable'>> {
  try {
    const { store } = await openToRead(to)
    return { replaced: store, notReadable: undefined }
  } catch (error) {
    if (!(error instanceof AppError) || error.code === storeErrors.foreign.code) throw error
    if (error.code === storeErrors.missing.code) return { replaced: undefined, notReadable: undefined }
    return { replaced: undefined, notReadable: reasonOf(error) }
  }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false }))
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev
}

const LOGS = ['-wal', '-journal']

/**
 * Puts a file in the place of the store at `real`, in one step, and returns the path under which the old store is kept; null if
 * there was none. At every moment there is a whole store under the name, and no log of another one beside it.
 */
async function replaceStore(replacement: string, real: string, now: number): Promise<string | null> {
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
const keptPath = (real: string, now: number): string =>
  real + REPLACED_MARK + new Date(now).toISOString().replace(/[-:]/g, '')

/** Results of SQLite for a file that it cannot read: damaged, and no database. */
const UNREADABLE = [11, 26]

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
    if (UNREADABLE.includes(resultOf(error))) return undefined
    throw isBusy(error) ? await inUse(real) : error
  }
}

async function inUse(real: string): Promise<AppError> {
  const holders = await otherHolders(watchedFiles(real))
  const who = holders.length === 0 ? 'another process' : holders.join(', ')
  return new AppError(storeErrors.inUse, {
    message: `The store ${real} is open in ${who}. End that first; nothing was changed.`,
  })
}
