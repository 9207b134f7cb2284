import { readdir, readFile, readlink } from 'node:fs/promises'
import type { WatchedFile } from './store-file.ts'

/** Tells whether this process holds a lock on a file; undefined where that cannot be known. Linux tells. */
export type HoldsLock = () => Promise<boolean | undefined>

/**
 * By one of the descriptors that SQLite has open for as long as the store is. The list of all locks of the machine would not do:
 * the kernel makes it in pieces, and may leave one out that stands in it before and afterwards.
 */
export async function lockOfThisProcess(realPath: string): Promise<HoldsLock> {
  const descriptors = await readdir('/proc/self/fd').catch(() => [])
  const targets = await Promise.all(descriptors.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => undefined)))
  const descriptor = descriptors[targets.indexOf(realPath)]
  if (descriptor === undefined) return async () => undefined
  return () =>
    readFile(`/proc/self/fdinfo/${descriptor}`, 'utf8').then(
      (text) => /^lock:/m.test(text),
      () => undefined,
    )
}

/** A line such as `1: POSIX  ADVISORY  WRITE 4711 fe:00:1234 120 120`. */
const WRITE_LOCK = /^\d+: POSIX +\S+ +WRITE (\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /

/** The other processes that hold a lock to write, named where they can be: `sqlite3 (process 4711)`. */
export async function otherWriters(files: readonly WatchedFile[]): Promise<string[]> {
  const inodes = new Set(files.map(({ ino }) => `${ino}`))
  const lines = (await readFile('/proc/locks', 'utf8').catch(() => '')).split('\n')
  const pids = lines.flatMap((line) => {
    const [, pid = '', inode = ''] = WRITE_LOCK.exec(line) ?? []
    return inodes.has(inode) && pid !== `${process.pid}` ? [pid] : []
  })
  return Promise.all(
    Array.from(new Set(pids), async (pid) => {
      const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => undefined)
      return name === undefined ? 'a process that cannot be seen from here' : `${name.trim()} (process ${pid})`
    }),
  )
}
