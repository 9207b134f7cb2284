import { statSync } from 'node:fs'
import { AppError } from '#src/lib/app-error.ts'
import { shellWord } from '#src/lib/printable.ts'
import { type InspectedStore, limitsOf, type StoreOptions } from '../open-store.ts'
import { movedFrom, movedText } from '../sqlite/moved.ts'
import { inspectSqliteStore } from '../sqlite/sqlite-store.ts'
import { backupErrors } from './backup.errors.ts'
import { digestOf, expectedDigest } from './backup-files.ts'

export interface VerifiedBackup extends InspectedStore {
  readonly bytes: number
  /** Whether there was a digest to compare with. */
  readonly digestCompared: boolean
}

/** Returns the size of a backup. Throws if there is none, or if it is not in one file. */
export function sizeOfBackup(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) throw invalid(`there is no file ${path}`)
  if (!found.isFile()) throw invalid(`${path} is not a file`)
  if (found.size === 0) throw invalid(`${path} is empty`)
  for (const log of [`${path}-wal`, `${path}-journal`]) {
    if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) > 0)
      throw invalid(
        `${log} belongs to it, so it is no backup but a store. Make a backup of it first: DATABASE_URL=${shellWord(`sqlite:${path}`)} teslim backup OTHER`,
      )
  }
  return found.size
}

/** Opens a copy of the backup at `original`, or the backup itself, after reading all of it. Changes nothing. */
export async function openVerified(
  path: string,
  original: string,
  from: StoreOptions,
  onProgress: (done: number, all: number) => void,
): Promise<VerifiedBackup> {
  const bytes = statSync(path).size
  const expected = await expectedDigest(original)
  if (expected !== undefined) {
    const found = await digestOf(path, (read) => onProgress(read, bytes))
    if (found !== expected)
      throw invalid(`${original} has the SHA-256 ${found}, but the file beside it says ${expected}`)
  }
  const inspected = await inspectSqliteStore({ path, limits: limitsOf(from), immutable: true }).catch(
    (error: unknown) => {
      throw error instanceof AppError ? invalid(reworded(error, path, original)) : error
    },
  )
  try {
    if (inspected.empty) throw invalid(`${original} is an SQLite file without a store`)
    const moved = movedFrom(path, { immutable: true })
    if (moved !== undefined)
      throw invalid(
        `${movedText(original, moved)}. If it is to be used again, first run DATABASE_URL=sqlite:${original} teslim copy --take-back`,
      )
    const damage = await inspected.findDamage({ indexes: true }).catch((error: Error) => error.message)
    if (damage !== undefined) throw invalid(`${original} is damaged: ${damage.replaceAll('\n', ' ')}`)
    return { ...inspected, bytes, digestCompared: expected !== undefined }
  } catch (error) {
    await inspected.store.close()
    throw error
  }
}

const reworded = ({ message, details: { reason } }: AppError, path: string, original: string): string =>
  (reason === undefined ? message : `${original}: ${reason}`).replaceAll(path, original).replace(/\.$/, '')

export const invalid = (why: string): AppError =>
  new AppError(backupErrors.invalid, { message: `Nothing was changed: ${why}.` })
