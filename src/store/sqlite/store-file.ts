import {
  closeSync,
  existsSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  unlinkSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '../store.errors.ts'

/**
 * Creates an empty file for a new store. Never opens an existing file: POSIX drops all locks of a process on a file when the
 * process closes any descriptor of it, and another SQLite that closes the store would then delete the live log. Root gives it
 * the owner of the file `beside`, or else of the folder, so that a server that is not root can open it.
 */
export function createStoreFile(path: string, beside = dirname(path)): void {
  // It holds password hashes and private keys, so only its owner may read it. SQLite gives -wal and -shm the same mode.
  const firstMade = mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    const descriptor = openSync(path, 'ax', 0o600)
    try {
      giveToOwner(descriptor, statSync(beside, { throwIfNoEntry: false }) ?? statSync(dirname(path)))
    } finally {
      closeSync(descriptor)
    }
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

/** SQLite does the same with the logs. */
function giveToOwner(descriptor: number, { uid, gid }: { readonly uid: number; readonly gid: number }): void {
  if (process.geteuid?.() !== 0) return
  try {
    fchownSync(descriptor, uid, gid)
  } catch {
    // In a container root may lack the right. Then the file stays root's.
  }
}

/** A new file survives a power cut only after its folder is synced, too. */
export function syncFolder(folder: string): void {
  // Windows cannot open folders, and needs no sync for names.
  if (process.platform === 'win32') return
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } catch (error) {
    // Node's permission model forbids fsync. SQLite then syncs the folder with the first commit.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_ACCESS_DENIED') throw error
  } finally {
    closeSync(descriptor)
  }
}

/** Returns the URL with which SQLite opens the file to read and write, but does not create it. */
export function existingFile(path: string): URL {
  const url = pathToFileURL(path)
  url.searchParams.set('mode', 'rw')
  return url
}

/** Returns the URL with which SQLite reads a file that nothing changes, without locks, log or shared memory. */
export function immutableFile(path: string): URL {
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return url
}

/** A file with the device and inode that it had when the store was opened. */
export interface WatchedFile {
  readonly path: string
  readonly dev: bigint
  readonly ino: bigint
}

/** Resolves symbolic links, as SQLite does before it puts its log and shared memory beside the file. The file may be missing. */
export function realPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    // Perhaps a disk is not mounted. A new store must not replace the link.
    if (isLink(path))
      throw new AppError(storeErrors.cannotOpen, {
        message: `${path} is a symbolic link whose target is missing: mount or create its folder, or remove the link.`,
      })
    return join(realpathSync.native(dirname(path)), basename(path))
  }
}

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true

/** Returns the files of a store. A connection that has read must be open, so that all of them exist. */
export const watchedFiles = (path: string): WatchedFile[] =>
  [path, `${realPath(path)}-wal`, `${realPath(path)}-shm`].map(watchedFile)

export function watchedFile(path: string): WatchedFile {
  const { dev = -1n, ino = -1n } = identityOf(path) ?? {}
  return { path, dev, ino }
}

/** Tells which file was moved, removed or replaced while the store is open; undefined if none was. */
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
    // A part of the path is no longer a folder.
    if (code === 'ENOTDIR') return undefined
    throw new AppError(storeErrors.unavailable, { reason: `${basename(path)} cannot be looked at (${code})` })
  }
}

/** Gives the same text again unless the files of a store were made, written or replaced since. */
export const writtenState = (path: string): string =>
  ['', '-wal']
    .map((end) => {
      try {
        const { dev, ino, size, mtimeNs } = statSync(realpathSync.native(path) + end, { bigint: true })
        return [dev, ino, size, mtimeNs].join(' ')
      } catch (error) {
        return (error as NodeJS.ErrnoException).code
      }
    })
    .join()

/** Says what stands where a store should be, in brackets. */
export function insteadOfStore(path: string): string {
  if (existsSync(path)) return ' (a file without a store)'
  if (!existsSync(dirname(path))) return ' (its folder is missing, too)'
  return isLink(path) ? ' (a symbolic link to nothing)' : ''
}

/** `teslim restore` keeps the old store as `teslim.db.before-TIME`. */
export const REPLACED_MARK = '.before-'

/** A file that a restore makes beside the store, to put it in the store's place. */
export const stagingPath = (real: string): string => `${real}.restoring`

/** A database file and what SQLite may put beside it. */
export const databaseFiles = (path: string): string[] => ['', '-journal', '-wal', '-shm'].map((end) => path + end)

/** A restore that was killed at its last step leaves a second name of the store. */
export function removeSecondName(real: string): void {
  const { ino, nlink = 0n } = statSync(real, STAT) ?? {}
  if (nlink < 2n) return
  const folder = dirname(real)
  for (const name of readdirSync(folder).filter((each) => each.startsWith(basename(real) + REPLACED_MARK))) {
    if (statSync(join(folder, name), STAT)?.ino === ino) unlinkSync(join(folder, name))
  }
}

/**
 * Refuses hard links, because each name of the file would have a log of its own. The caller has the server's lock, so what a
 * restore left is of one that was killed, and is removed.
 */
export function refuseSecondName(path: string): void {
  for (const file of databaseFiles(stagingPath(realPath(path)))) rmSync(file, { force: true })
  removeSecondName(realPath(path))
  const { nlink } = statSync(path)
  if (nlink > 1) throw new Error(`it has ${nlink} names (hard links), and under each it would have another log`)
}
