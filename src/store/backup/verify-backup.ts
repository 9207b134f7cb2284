import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { AppError } from '#src/lib/app-error.ts'
import { textOf } from '#src/lib/messages/message.ts'
import { shellWord } from '#src/lib/printable.ts'
import { type InspectedStore, limitsOf, type StoreOptions } from '../open-store.ts'
import { movedFrom, movedText } from '../sqlite/moved.ts'
import { inspectSqliteStore } from '../sqlite/sqlite-store.ts'
import { backupErrors, digestPath, expectedBeside, fileDigest, hmacPath, statOf } from './backup-files.ts'

export interface VerifyOptions {
  /** How a store is opened. */
  readonly to: StoreOptions
  readonly judge: JudgeHmac
  /** Whether a backup without an HMAC will do, although there is a secret to judge one by. */
  readonly unproved: boolean
  onProgress(done: number, all: number): void
}

export interface VerifiedBackup extends InspectedStore {
  readonly bytes: number
  /** Whether there was a digest to compare with. */
  readonly digestCompared: boolean
  readonly hmac: HmacFound
}

/** `unchecked`: there is one, but no secret to compare it with. */
type HmacFound = 'matches' | 'missing' | 'unchecked'

/** Tells whether an HMAC was made of a SHA-256 under a secret of this service; undefined if it has none. */
type JudgeHmac = ((digest: string, hmac: string) => Promise<boolean>) | undefined

/** Returns the size of a backup. Throws if there is none, or if it is not in one file. */
export function sizeOfBackup(path: string): number {
  const found = statOf(path)
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
  { to, judge, unproved, onProgress }: VerifyOptions,
): Promise<VerifiedBackup> {
  const bytes = statSync(path).size
  const expected = await expectedBeside(digestPath(original), 'a SHA-256')
  const signed = await expectedBeside(hmacPath(original), 'an HMAC of SHA-256')
  if (signed === undefined && judge !== undefined && !unproved)
    throw new AppError(backupErrors.unproved, {
      message: `Nothing was changed: there is no ${basename(hmacPath(original))} beside ${original}, so nothing proves that it was made under TESLIM_SECRET, and somebody may have changed it. Get that file, too; if there is none and nobody could change the backup, give --unproved.`,
    })
  const hmac = signed === undefined ? 'missing' : judge === undefined ? 'unchecked' : 'matches'
  if (expected !== undefined || hmac === 'matches') {
    const found = await fileDigest(path, (read) => onProgress(read, bytes))
    if (expected !== undefined && found !== expected)
      throw invalid(`${original} has the SHA-256 ${found}, but the file beside it says ${expected}`)
    if (signed !== undefined && judge !== undefined && !(await judge(found, signed)))
      throw invalid(
        `the HMAC in ${hmacPath(original)} is not that of the backup under TESLIM_SECRET or TESLIM_SECRET_OLD: somebody has changed the backup, or it was made under another secret, which must be set then`,
      )
  }
  const inspected = await inspectSqliteStore({ path, limits: limitsOf(to), immutable: true }).catch(
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
    const damage = await inspected.findDamage('indexes').catch((error: Error) => error.message)
    if (damage !== undefined) throw invalid(`${original} is damaged: ${damage.replaceAll('\n', ' ')}`)
    return { ...inspected, bytes, digestCompared: expected !== undefined, hmac }
  } catch (error) {
    await inspected.store.close()
    throw error
  }
}

const reworded = ({ message, details: { reason } }: AppError, path: string, original: string): string =>
  (reason === undefined ? message : `${original}: ${textOf(reason)}`).replaceAll(path, original).replace(/\.$/, '')

export const invalid = (why: string): AppError =>
  new AppError(backupErrors.invalid, { message: `Nothing was changed: ${why}.` })
