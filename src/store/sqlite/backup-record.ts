import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '../store.errors.ts'
import { cannotOpen } from './database.ts'
import { isBusy, resultOf } from './failures.ts'
import { createStoreFile, existingFile, realPath } from './store-file.ts'

export interface MadeBackup {
  /** Absolute. */
  readonly path: string
  /** When it began, in milliseconds since 1970. */
  readonly at: number
  /** Whether it may be removed when there are newer ones. */
  readonly scheduled: boolean
}

/** One that is being made. */
export interface BegunBackup extends MadeBackup {
  /** Tells its incomplete file from a later one of the same name. */
  readonly file: string
}

/** Held by the one process that makes a backup of a store. */
export interface BackupRecord {
  /** Lists the scheduled backups, the last one made first, whatever the clock said. */
  scheduled(): string[]
  /** Lists the backups that were begun and not finished. Their processes have ended, since this one has the lock. */
  begun(): BegunBackup[]
  /** Forgets that a backup was begun. Remembers it like other backups if it is complete. */
  settle(begun: MadeBackup, isComplete: boolean): void
  /** Remembers that a backup is begun. Throws STORE_IN_USE if another process takes the lock meanwhile. */
  begin(begun: BegunBackup): void
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

const TABLES = `
  CREATE TABLE IF NOT EXISTS backup (
    path TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL, scheduled INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS begun (
    path TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL, scheduled INTEGER NOT NULL, file TEXT NOT NULL
  ) STRICT`

/** Throws STORE_IN_USE while another process makes a backup. */
export function lockForBackup(store: string): BackupRecord {
  const file = recordPath(store)
  createStoreFile(file, store)
  const database = new DatabaseSync(existingFile(file), { timeout: PATIENCE_MILLISECONDS })
  const take = (): void => {
    try {
      database.exec('BEGIN IMMEDIATE')
    } catch (error) {
      if (!isBusy(error)) throw error
      throw new AppError(storeErrors.inUse, {
        message: `Another process is making a backup of ${store}: wait until it is done.`,
      })
    }
  }
  const settle: BackupRecord['settle'] = ({ path, at, scheduled }, isComplete) => {
    if (isComplete) database.prepare('INSERT OR REPLACE INTO backup VALUES (?, ?, ?)').run(path, at, Number(scheduled))
    database.prepare('DELETE FROM begun WHERE path = ?').run(path)
  }
  try {
    take()
    database.exec(TABLES)
  } catch (error) {
    database.close()
    throw error
  }
  return {
    scheduled: () =>
      database
        .prepare('SELECT path FROM backup WHERE scheduled = 1 ORDER BY rowid DESC')
        .all()
        .map((row) => String(row.path)),
    begun: () => begunIn(database),
    settle,
    begin({ path, at, scheduled, file }) {
      database.prepare('INSERT OR REPLACE INTO begun VALUES (?, ?, ?, ?)').run(path, at, Number(scheduled), file)
      database.exec('COMMIT')
      take()
    },
    finish(made, removed) {
      // Only the newest of the others matters.
      database.exec('DELETE FROM backup WHERE scheduled = 0')
      for (const each of removed) database.prepare('DELETE FROM backup WHERE path = ?').run(each)
      settle(made, true)
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
      return readLast(path)
    } catch (error) {
      if (!isBusy(error) || waited >= PATIENCE_MILLISECONDS) throw cannotOpen(path, error)
    }
    await setTimeout(RETRY_MILLISECONDS)
  }
}

const readLast = (store: string): number | undefined =>
  reading(
    store,
    'backup',
    (database) => database.prepare('SELECT at FROM backup ORDER BY rowid DESC LIMIT 1').get()?.at as number | undefined,
  )

const READ_ONLY = 8

/**
 * Lists the backups whose processes were killed. Empty while another process makes a backup, and for an account that may only read,
 * since neither can get the lock.
 */
export function killedBackups(store: string): BegunBackup[] {
  try {
    const killed = reading(store, 'begun', (database) => {
      database.exec('BEGIN IMMEDIATE')
      return begunIn(database)
    })
    return killed ?? []
  } catch (error) {
    if (isBusy(error) || resultOf(error) === READ_ONLY) return []
    throw error
  }
}

/** Undefined where no backup was ever begun. Not opened read-only: that could not undo what a backup that was killed left half written. */
function reading<Result>(store: string, table: string, read: (database: DatabaseSync) => Result): Result | undefined {
  const file = recordPath(store)
  if (!existsSync(file)) return undefined
  const database = new DatabaseSync(existingFile(file), { timeout: 0 })
  try {
    const hasTable = database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(table) !== undefined
    return hasTable ? read(database) : undefined
  } finally {
    database.close()
  }
}

const begunIn = (database: DatabaseSync): BegunBackup[] =>
  database
    .prepare('SELECT path, at, scheduled, file FROM begun ORDER BY rowid')
    .all()
    .map(({ path, at, scheduled, file }) => ({
      path: String(path),
      at: Number(at),
      scheduled: scheduled === 1,
      file: String(file),
    }))
