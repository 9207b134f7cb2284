import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '../store.errors.ts'
import { opening } from './database.ts'
import { isLocked } from './server-lock.ts'
import { createStoreFile, existingFile, realPath } from './store-file.ts'

export interface MadeBackup {
  /** Absolute. */
  readonly path: string
  /** When it began, in milliseconds since 1970. */
  readonly at: number
  /** Whether it may be removed when there are newer ones. */
  readonly scheduled: boolean
}

/** Held by the one process that makes a backup of a store. */
export interface BackupRecord {
  /** Lists the scheduled backups, the last one made first, whatever the clock said. */
  scheduled(): string[]
  /** Remembers a backup and forgets those that were removed. Ends the lock. */
  finish(made: MadeBackup, removed: readonly string[]): void
  release(): void
}

/**
 * The path of a small database beside the store that lists the backups. Its write lock means that one is being made; the
 * operating system drops the lock with the process.
 */
const recordPath = (path: string): string => `${realPath(path)}-backup`

const PATIENCE_MILLISECONDS = 500
const RETRY_MILLISECONDS = 50

/** Throws STORE_IN_USE while another process makes a backup. Needs no free space. */
export function lockForBackup(path: string): BackupRecord {
  const file = recordPath(path)
  createStoreFile(file)
  const database = new DatabaseSync(existingFile(file), { timeout: PATIENCE_MILLISECONDS })
  try {
    database.exec('BEGIN IMMEDIATE')
  } catch (error) {
    database.close()
    if (!isLocked(error)) throw error
    throw new AppError(storeErrors.inUse, {
      message: `Another process is making a backup of ${path}: wait until it is done.`,
    })
  }
  return {
    scheduled: () =>
      hasTable(database)
        ? database
            .prepare('SELECT path FROM backup WHERE scheduled = 1 ORDER BY rowid DESC')
            .all()
            .map((row) => String(row.path))
        : [],
    finish({ path, at, scheduled }, removed) {
      database.exec(
        'CREATE TABLE IF NOT EXISTS backup (path TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL, scheduled INTEGER NOT NULL) STRICT',
      )
      // Only the newest of the others matters.
      database.exec('DELETE FROM backup WHERE scheduled = 0')
      for (const each of removed) database.prepare('DELETE FROM backup WHERE path = ?').run(each)
      database.prepare('INSERT OR REPLACE INTO backup VALUES (?, ?, ?)').run(path, at, Number(scheduled))
      database.exec('COMMIT')
      database.close()
    },
    release: () => {
      if (database.isOpen) database.close()
    },
  }
}

/** Resolves to when the last successful backup began; undefined if there was none. Never blocks this thread while the record is locked. */
export async function lastBackupAt(path: string): Promise<number | undefined> {
  for (let waited = 0; ; waited += RETRY_MILLISECONDS) {
    try {
      return readLast(recordPath(path))
    } catch (error) {
      if (!isLocked(error) || waited >= PATIENCE_MILLISECONDS) {
        return opening(path, () => {
          throw error
        })
      }
    }
    await setTimeout(RETRY_MILLISECONDS)
  }
}

function readLast(file: string): number | undefined {
  if (!existsSync(file)) return undefined
  // Not read-only: that could not undo what a backup that was killed left half written.
  const database = new DatabaseSync(existingFile(file), { timeout: 0 })
  try {
    if (!hasTable(database)) return undefined
    return (
      (database.prepare('SELECT at FROM backup ORDER BY rowid DESC LIMIT 1').get()?.at as number | null) ?? undefined
    )
  } finally {
    database.close()
  }
}

const hasTable = (database: DatabaseSync): boolean =>
  database.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'backup'`).get() !== undefined
