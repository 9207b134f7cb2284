import { realpathSync, statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError } from '#src/lib/app-error.ts'
import { refuseRootIn } from '#src/lib/folder-of-another.ts'
import { openToRead, refuseMoved, type StoreOptions, sqlitePath } from '../open-store.ts'
import { type BackupRecord, lockForBackup, type MadeBackup } from '../sqlite/backup-record.ts'
import { opening } from '../sqlite/database.ts'
import { changeOf, existingFile, realPath, type WatchedFile, watchedFile } from '../sqlite/store-file.ts'
import {
  backupErrors,
  backupFiles,
  clearKilled,
  createPrivate,
  fileDigest,
  fileIdentity,
  isThere,
  NOT_CREATED,
  nothingCopied,
  partialPath,
  placeOf,
  publish,
  removeBeside,
  removeDatabase,
  removePartialBeside,
  statOf,
  storeFiles,
  writeBeside,
} from './backup-files.ts'
import { copyPages } from './copy-pages.ts'

interface BackupOptions {
  /** The embedded store, and how a store is opened. */
  readonly from: StoreOptions
  readonly to: string
  readonly now: number
  /** For a scheduled backup: removes all scheduled ones but so many of the newest. */
  readonly keep?: number | undefined
  /** Makes the HMAC of a SHA-256; undefined without a secret. */
  readonly sign: ((digest: string) => Promise<string>) | undefined
  readonly stop: AbortSignal
  onProgress(step: 'copied' | 'checked', done: number, all: number): void
}

interface Backup {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  /** The older scheduled backups that were removed. */
  readonly removed: readonly string[]
  /** Why the backup could not be recorded beside the store, if it could not. */
  readonly notRecorded: string | undefined
}

/** Copies the store as it is at one moment, beside a running server. The file gets its name once it is complete and checked. */
export async function backupStore(options: BackupOptions): Promise<Backup> {
  const { from, now, keep } = options
  const store = sqlitePath(from.databaseUrl)
  const path = resolve(options.to)
  for (const file of [store, path]) refuseRootIn(dirname(file))
  await (await openToRead(from)).store.close()
  // It would look as if what is in use now were backed up.
  refuseMoved(from)
  refuseTarget(path, store)
  const record = opening(`${store}-backup`, () => lockForBackup(store))
  const partial = partialPath(path)
  let made: WatchedFile[] | undefined
  let besideWritten = false
  const begun = { path, at: now, scheduled: keep !== undefined }
  try {
    clearKilled(record)
    record.begin({ ...begun, file: NOT_CREATED })
    removeDatabase(partial)
    opening(partial, () => createPrivate(partial))
    made = [watchedFile(partial)]
    record.begin({ ...begun, file: fileIdentity(partial) ?? NOT_CREATED })
    refuseChanged(made)
    await copyPages(store, partial, (copied, all) => {
      options.stop.throwIfAborted()
      options.onProgress('copied', copied, all)
    })
    check(partial)
    const { size: bytes } = statSync(partial)
    const sha256 = await fileDigest(partial, (read) => {
      options.stop.throwIfAborted()
      options.onProgress('checked', read, bytes)
    })
    refuseTarget(path, store)
    refuseChanged(made)
    writeBeside(path, sha256, await options.sign?.(sha256))
    besideWritten = true
    publish(partial, path)
    return { path, bytes, sha256, ...finish(record, begun, keep) }
  } catch (error) {
    if (made !== undefined && changeOf(made) === undefined) {
      removePartialBeside(path)
      if (besideWritten) removeBeside(path)
      removeDatabase(partial)
    }
    throw failure(error, options)
  } finally {
    record.release()
  }
}

function refuseTarget(path: string, store: string): void {
  const folder = statOf(dirname(path))
  if (!folder?.isDirectory()) throw nothingCopied(`there is no folder ${dirname(path)}: create it first`)
  const found = statOf(path)
  if (found?.isDirectory()) throw nothingCopied(`${path} is a folder: name a file in it`)
  const own = [...storeFiles(realPath(store)), placeOf(store)]
  const clash = backupFiles(path).find((file) => own.includes(placeOf(file)))
  if (clash !== undefined) throw nothingCopied(`${clash} belongs to the store itself: name another file`)
  if (isThere(path)) throw nothingCopied(`${path} is there already: name another file, or remove it first`)
}

function refuseChanged(made: readonly WatchedFile[]): void {
  const change = changeOf(made)
  if (change !== undefined) throw nothingCopied(`${change} by another process`)
}

/** Leaves one file that needs no log, and reads all of it. */
function check(partial: string): void {
  const copy = new DatabaseSync(existingFile(partial))
  try {
    copy.exec('PRAGMA journal_mode = DELETE')
    const found = copy.prepare('PRAGMA quick_check(1)').get()?.quick_check
    if (found !== 'ok')
      throw new AppError(backupErrors.failed, {
        message: `The copy is damaged, and probably the store too (see teslim doctor --full): ${String(found).replaceAll('\n', ' ')}`,
      })
  } finally {
    copy.close()
  }
}

/** The backup is complete by now, so what fails here does not make it fail. */
function finish(record: BackupRecord, made: MadeBackup, keep: number | undefined) {
  const removed: string[] = []
  try {
    const folder = folderOf(made.path)
    const inFolder = record.scheduled().filter((each) => folderOf(each) === folder)
    const found = inFolder.filter(isThere)
    for (const old of found.slice(keep === undefined ? found.length : keep - 1)) {
      removeDatabase(old)
      removeBeside(old)
      removed.push(old)
    }
    const gone = inFolder.filter((each) => !isThere(each))
    record.finish(made, gone)
    return { removed, notRecorded: undefined }
  } catch (error) {
    return { removed, notRecorded: (error as Error).message }
  }
}

/** The folder has perhaps several paths, or is gone. */
function folderOf(path: string): string {
  try {
    return realpathSync.native(dirname(path))
  } catch {
    return dirname(path)
  }
}

function failure(error: unknown, { to, stop }: BackupOptions): unknown {
  if (error instanceof AppError) return error
  const why = stop.aborted ? 'it was interrupted' : (error as Error).message
  return new AppError(backupErrors.failed, {
    message: `The backup ${basename(to)} was not made: ${why}. Nothing is left of it.`,
    cause: error,
  })
}
