import { type StatsFs, statfsSync, statSync } from 'node:fs'
import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { DiskUse } from '../store.ts'
import { realPath } from './store-file.ts'

/** What decides how large the log may be, in bytes. */
export interface LogRoom {
  readonly file: number
  readonly wal: number
  readonly free: number
}

/**
 * A log that nobody can copy makes reads slower, and the next start after a kill reads all of it. Commits write up to 10 MB a second to
 * it, so a reader that is forgotten takes half an hour to get here.
 */
const MAX_BYTES_OF_LOG = 16 * 1024 ** 3

/**
 * Returns how large the log may be. Copying it takes at most its own size once more, so it never has more than half of the room that there
 * is for it. A backup reads one state until it is complete, and copies faster than the log grows, so the log may be as large as the file.
 */
export const mostBytesOfLog = ({ file, wal, free }: LogRoom): number =>
  Math.min(Math.max(MAX_BYTES_OF_LOG, file), free, (wal + free) / 2)

/** Some network file systems do not say how large they are. */
const freeOf = ({ blocks, bavail, bsize }: StatsFs): number =>
  blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize

export async function diskUseOf(path: string): Promise<DiskUse> {
  const real = realPath(path)
  const sizeOf = async (name: string) => (await stat(name)).size
  const [file, wal, disk] = await Promise.all([sizeOf(real), sizeOf(`${real}-wal`), statfs(dirname(real))])
  const mostWal = mostBytesOfLog({ file, wal, free: freeOf(disk) })
  return { file, wal, mostWal, free: disk.bavail * disk.bsize }
}

/** Returns the same at once. The log may be missing. `real` has no symbolic link. */
export function logRoom(real: string): LogRoom {
  const sizeOf = (name: string): number => statSync(name, { throwIfNoEntry: false })?.size ?? 0
  return { file: sizeOf(real), wal: sizeOf(`${real}-wal`), free: freeOf(statfsSync(dirname(real))) }
}
