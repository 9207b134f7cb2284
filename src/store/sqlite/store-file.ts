import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { pathToFileURL } from 'node:url'

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

/** The device and inode of a file, or of nothing. */
export interface FileId {
  readonly dev: bigint
  readonly ino: bigint
}

/** The store's file, its log and the memory that connections share. */
const SUFFIXES = ['', '-wal', '-shm'] as const

const STAT = { bigint: true, throwIfNoEntry: false } as const
const NOTHING: FileId = { dev: -1n, ino: -1n }

/** Which files a process works on. To be asked while a connection is open that has read. */
export const fileIds = (path: string): FileId[] =>
  SUFFIXES.map((suffix) => {
    const { dev, ino } = idOf(path + suffix)
    return { dev, ino }
  })

function idOf(path: string): FileId {
  try {
    return statSync(path, STAT) ?? NOTHING
  } catch {
    // A part of the path is no folder any more, or may not be entered.
    return NOTHING
  }
}

/** What has happened to the files behind the back of a process that works on them; undefined if nothing has. */
export function changeOf(path: string, ids: readonly FileId[]): string | undefined {
  for (const [index, id] of ids.entries()) {
    const suffix = SUFFIXES[index]
    const found = idOf(path + suffix)
    if (found.ino === id.ino && found.dev === id.dev) continue
    return `${basename(path)}${suffix} was ${found === NOTHING ? 'moved or removed' : 'replaced'}`
  }
  return undefined
}
