import { readFileSync } from 'node:fs'
import { readdir, readFile, readlink, stat } from 'node:fs/promises'
import type { WatchedFile } from '../store-file.ts'

/**
 * Looks at the descriptors that a process has of a file. The list of all locks (/proc/locks) is not reliable: the kernel writes it in
 * pieces and may miss a lock that is there all the time.
 */
async function descriptorsOf(pid: string, realPath: string): Promise<string[]> {
  const names = await readdir(`/proc/${pid}/fd`).catch(() => [])
  const targets = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => undefined)))
  return names.filter((_, index) => targets[index] === realPath).map((name) => `/proc/${pid}/fdinfo/${name}`)
}

/** Undefined where that cannot be seen: on all but Linux, and for processes of others. */
function hasLock(descriptor: string): boolean | undefined {
  try {
    // The kernel makes the text: nothing waits for a disk.
    return /^lock:/m.test(readFileSync(descriptor, 'utf8'))
  } catch {
    return undefined
  }
}

/** Resolves to what tells whether this process holds a lock on a file, by a descriptor that SQLite keeps open as long as the store. */
export async function lockOfThisProcess(realPath: string): Promise<() => boolean | undefined> {
  const [first] = await descriptorsOf('self', realPath)
  return () => (first === undefined ? undefined : hasLock(first))
}

/** Asks the same about another process; null where that cannot be seen. */
export async function holdsLock(pid: string, realPath: string): Promise<boolean | null> {
  const found = (await descriptorsOf(pid, realPath)).map(hasLock)
  return found.includes(true) || (found.includes(false) ? false : null)
}

/** A line such as `1: POSIX  ADVISORY  WRITE 4711 fe:00:1234 120 120`. */
const WRITE_LOCK = /^\d+: POSIX +\S+ +WRITE (\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /
const ANY_LOCK = /^\d+: POSIX +\S+ +\w+ (\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /

/** Returns the other processes that hold a write lock, with their names if possible: `sqlite3 (process 4711)`. */
export const otherWriters = (files: readonly WatchedFile[], except?: string): Promise<string[]> =>
  othersWith(WRITE_LOCK, files, except)

/** Returns the other processes that hold any lock: those that have the store open. */
export const otherHolders = (files: readonly WatchedFile[]): Promise<string[]> => othersWith(ANY_LOCK, files)

async function othersWith(lock: RegExp, files: readonly WatchedFile[], except?: string): Promise<string[]> {
  const inodes = new Set(files.map(({ ino }) => `${ino}`))
  const lines = (await readFile('/proc/locks', 'utf8').catch(() => '')).split('\n')
  const pids = lines.flatMap((line) => {
    const [, pid = '', inode = ''] = lock.exec(line) ?? []
    return inodes.has(inode) && pid !== `${process.pid}` && pid !== except ? [pid] : []
  })
  const suspects = await Promise.all(
    Array.from(new Set(pids), async (pid) => ((await hasOpen(pid, files)) ? [pid] : [])),
  )
  return Promise.all(
    suspects.flat().map(async (pid) => {
      const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => undefined)
      return name === undefined ? 'a process that cannot be seen from here' : `${name.trim()} (process ${pid})`
    }),
  )
}

/**
 * Inodes have the same numbers on other devices, and the device in /proc/locks is not always that of stat (Btrfs, overlays). True
 * also where the files of the process cannot be seen.
 */
async function hasOpen(pid: string, files: readonly WatchedFile[]): Promise<boolean> {
  const folder = `/proc/${pid}/fd`
  const descriptors = await readdir(folder).catch(() => undefined)
  if (descriptors === undefined) return true
  const found = await Promise.all(
    descriptors.map((name) => stat(`${folder}/${name}`, { bigint: true }).catch(() => undefined)),
  )
  return files.some(({ dev, ino }) => found.some((each) => each?.dev === dev && each.ino === ino))
}
