import { readFile } from 'node:fs/promises'
import type { FileId } from './store-file.ts'

interface FileLock {
  readonly pid: number
  readonly write: boolean
}

/** A line such as `1: POSIX  ADVISORY  WRITE 4711 fe:00:1234 120 120`. */
const LINE = /^\d+: POSIX +\S+ +(READ|WRITE) (\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /

/** The locks that processes hold on a file; undefined where the system does not tell. Linux does. */
async function locksOn({ ino }: FileId): Promise<FileLock[] | undefined> {
  const text = await readFile('/proc/locks', 'utf8').catch(() => undefined)
  return text?.split('\n').flatMap((line) => {
    const [, kind, pid, inode] = LINE.exec(line) ?? []
    return inode === `${ino}` ? [{ pid: Number(pid), write: kind === 'WRITE' }] : []
  })
}

/** The kernel makes the list in pieces and may leave a lock out that stands in it before and afterwards. */
const TRIES = 3

/** Whether this process holds a lock on a file; undefined where that cannot be known. */
export async function holdsLock(file: FileId): Promise<boolean | undefined> {
  for (let tries = 0; tries < TRIES; tries++) {
    const locks = await locksOn(file)
    if (locks === undefined) return undefined
    if (locks.some(({ pid }) => pid === process.pid)) return true
  }
  return false
}

/** The other processes that hold a lock to write, named where they can be: `sqlite3 (process 4711)`. */
export async function otherWriters(files: readonly FileId[]): Promise<string[]> {
  const locks = (await Promise.all(files.map(locksOn))).flatMap((found) => found ?? [])
  const pids = new Set(locks.filter(({ pid, write }) => write && pid !== process.pid).map(({ pid }) => pid))
  return Promise.all(
    Array.from(pids, async (pid) => {
      const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => undefined)
      return name === undefined ? 'a process that cannot be seen from here' : `${name.trim()} (process ${pid})`
    }),
  )
}
