import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { StoreRoom } from '../store.ts'
import { realPath } from './store-file.ts'

export async function roomOf(path: string): Promise<StoreRoom> {
  const real = realPath(path)
  const sizeOf = async (name: string) => (await stat(name)).size
  const [file, wal, { bavail, bsize }] = await Promise.all([sizeOf(real), sizeOf(`${real}-wal`), statfs(dirname(real))])
  return { file, wal, free: bavail * bsize }
}
