import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Makes an empty file for a new store. An existing one is not opened: POSIX drops all locks of a process on a file as soon as
 * the process closes any descriptor of it, and another SQLite would then delete the live log on leaving.
 */
export function createStoreFile(path: string): void {
  // The file holds password hashes and private keys, so only its owner may read it; -wal and -shm get the same mode.
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** The file as SQLite opens it to read and write, without making one that is missing. */
export function existingFile(path: string): URL {
  const url = pathToFileURL(path)
  url.searchParams.set('mode', 'rw')
  return url
}
