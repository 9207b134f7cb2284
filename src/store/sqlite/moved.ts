import { AppError } from '#src/lib/app-error.ts'
import { storeMoved } from '../store.errors.ts'
import { type Database, type OpenOptions, openDatabase } from './database.ts'

/** What a copy to PostgreSQL wrote into the store that it left. */
export interface Moved {
  /** Hosts and name of the database, without user and password. */
  readonly to: string
  /** In milliseconds since 1970. */
  readonly at: number
}

/** Returns undefined for a store that was not moved. */
export function movedFrom(path: string, options: Pick<OpenOptions, 'immutable'> = {}): Moved | undefined {
  const database = openDatabase(path, { readOnly: true, ...options })
  try {
    return read(database)
  } finally {
    database.close()
  }
}

/** Throws STORE_MOVED. */
export function refuseMoved(database: Database): void {
  const moved = read(database)
  if (moved !== undefined) throw movedError(database.path, moved)
}

function read(database: Database): Moved | undefined {
  if (database.get(`SELECT 1 FROM sqlite_schema WHERE name = 'moved'`) === undefined) return undefined
  return database.get('SELECT target AS "to", at FROM moved') as Moved | undefined
}

export const movedText = (path: string, { to, at }: Moved): string =>
  `The store ${path} was moved to ${to} on ${new Date(at).toISOString()}`

export const movedError = (path: string, moved: Moved): AppError =>
  new AppError(storeMoved, {
    message: `${movedText(path, moved)}: set DATABASE_URL to that database. If this file is to be used again, run "teslim copy --take-back" first.`,
  })

/** Runs in a transaction of the caller. */
export function markMoved(database: Database, { to, at }: Moved): void {
  database.run('DELETE FROM moved')
  database.run('INSERT INTO moved (target, at) VALUES ($1, $2)', to, at)
}

export function unmarkMoved(path: string): void {
  const database = openDatabase(path)
  try {
    database.run('DELETE FROM moved')
  } finally {
    database.close()
  }
}
