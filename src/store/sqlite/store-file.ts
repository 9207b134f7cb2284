import { closeSync, fsyncSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '../store.errors.ts'

/**
 * Makes an empty file for a new store. An existing one is not opened: POSIX drops all locks of a process on a file as soon as
 * the process closes any descriptor of it, and another SQLite would then delete the live log on leaving.
 */
export function createStoreFile(path: string): void {
  // The file holds password hashes and private keys, so only its owner may read it; -wal and -shm get the same mode.
  const firstMade = mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    throw error
  }
  const outermost = dirname(firstMade ?? path)
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    syncFolder(folder)
    if (folder === outermost) return
  }
}

/** A new name survives a power cut only once its folder is synced, too. */
function syncFolder(folder: string): void {
  // Windows opens no folders, and keeps names by itself.
  if (process.platform === 'win32') return
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } catch (error) {
    // Node's permission model knows no fsync. SQLite then syncs the folder with the first commit.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_ACCESS_DENIED') throw error
  } finally {
    closeSync(descriptor)
  }
}

/** The file as SQLite opens it to read and write, without making one that is missing. */
export function existingFile(path: string): URL {
  const url = pathToFileURL(path)
  url.searchParams.set('mode', 'rw')
  return url
}

/** A file as a process found it, by device and inode. */
export interface WatchedFile {
  readonly path: string
  readonly dev: bigint
  readonly ino: bigint
}

/** Where the name leads: SQLite puts its log and the memory that connections share beside the file itself. */
export const realPath = (path: string): string => realpathSync.native(path)

/** The files that a process works on. To be asked while a connection is open that has read. */
export const watchedFiles = (path: string): WatchedFile[] =>
  [path, `${realPath(path)}-wal`, `${realPath(path)}-shm`].map(watchedFile)

export const watchedFile = (path: string): WatchedFile => ({ path, ...(identityOf(path) ?? NOTHING) })

const NOTHING = { dev: -1n, ino: -1n }

/** What has happened to the files behind the back of a process that works on them; undefined if nothing has. */
export function changeOf(files: readonly WatchedFile[]): string | undefined {
  for (const { path, dev, ino } of files) {
    const found = identityOf(path)
    if (found?.ino === ino && found.dev === dev) continue
    return `${basename(path)} was ${found === undefined ? 'moved or removed' : 'replaced'}`
  }
  return undefined
}

const STAT = { bigint: true, throwIfNoEntry: false } as const

function identityOf(path: string) {
  try {
    return statSync(path, STAT)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A part of the path is no folder any more.
    if (code === 'ENOTDIR') return undefined
    throw new AppError(storeErrors.unavailable, { reason: `${basename(path)} cannot be looked at (${code})` })
  }
}

/** Two names of one file would have a log each. */
export function refuseSecondName(path: string): void {
  const { nlink } = statSync(path)
  if (nlink > 1) throw new Error(`it has ${nlink} names (hard links), and under each it would have another log`)
}
