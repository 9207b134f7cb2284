import { AppError, reasonOf } from '#src/lib/app-error.ts'
import { keepServersOff, limitsOf, openToRead, type StoreOptions, sqlitePath } from '../open-store.ts'
import { type Database, openDatabase } from '../sqlite/database.ts'
import { isBusy } from '../sqlite/failures.ts'
import { type Moved, markMoved, movedError, movedFrom, unmarkMoved } from '../sqlite/moved.ts'
import { openSqliteStore } from '../sqlite/sqlite-store.ts'
import { storeErrors } from '../store.errors.ts'
import type { Store } from '../store.ts'

export interface Source {
  readonly database: Database
  /** Ends the state that is read, and returns whether the store was changed since. Unless it was, or servers may use it, marks it as moved. */
  finish(): { readonly changed: boolean; readonly moved: Moved | undefined }
  close(): void
}

/** Opens the file; what is read from it is the state of this moment for as long as it is open. `to` is the URL of the database. */
export async function openSource(
  options: StoreOptions,
  to: string,
  now: number,
  whileServing: boolean,
): Promise<Source> {
  const { store, pending } = await openToRead(options)
  await store.close()
  const path = sqlitePath(options.databaseUrl)
  if (pending.length > 0)
    throw new AppError(storeErrors.older, { message: `${path} lacks ${pending.join(', ')}: run "teslim migrate".` })
  const moved = { to: placeOf(to), at: now }
  const lock = whileServing ? undefined : keepServersOff(options, now, 'teslim copy')
  let database: Database | undefined
  try {
    const before = movedFrom(path)
    // A second copy to the same place is safe: it is refused once that is in use.
    if (before !== undefined && before.to !== moved.to) throw movedError(path, before)
    const opened = openDatabase(path, { readOnly: whileServing })
    database = opened
    // How long the mark waits for others.
    opened.script('PRAGMA busy_timeout = 5000')
    const version = dataVersion(opened)
    opened.script('BEGIN')
    opened.get('SELECT number FROM account_version')
    return {
      database: opened,
      finish() {
        if (!whileServing) return mark(opened, path, moved)
        opened.script('COMMIT')
        return { changed: dataVersion(opened) !== version, moved: undefined }
      },
      close() {
        opened.close()
        lock?.release()
      },
    }
  } catch (cause) {
    database?.close()
    lock?.release()
    if (cause instanceof AppError && cause.code !== storeErrors.unavailable.code) throw cause
    throw new AppError(storeErrors.cannotOpen, { message: `${path} cannot be copied: ${reasonOf(cause)}`, cause })
  }
}

/** SQLite changes it with each commit of another connection. */
const dataVersion = (database: Database) => database.get('PRAGMA data_version')?.data_version

/** Writes in the transaction that has read everything: SQLite allows that only if nobody has committed since. */
function mark(database: Database, path: string, moved: Moved): ReturnType<Source['finish']> {
  try {
    markMoved(database, moved)
    database.script('COMMIT')
    return { changed: false, moved }
  } catch (cause) {
    if (isBusy(cause)) return { changed: true, moved: undefined }
    throw new AppError(storeErrors.unavailable, {
      reason: `everything is copied, but ${path} could not be marked as moved: ${reasonOf(cause)}`,
      cause,
    })
  }
}

/** The hosts and the name of a database. Nothing before an @ is part of it, nor a parameter such as `password`. */
export function placeOf(url: string): string {
  const [, hosts = '', rest = ''] = /^[^:]*:\/\/(?:[^?#]*@)?([^/?#]*)([^#]*)/.exec(url) ?? []
  const { pathname, searchParams } = new URL(rest, 'postgres://x')
  return `${hosts || (searchParams.get('host') ?? 'localhost')}${pathname}`
}

/** Lets a store that was moved be used again, once `work` has changed what must not stay as it was. */
export async function takeBack(
  options: StoreOptions,
  now: number,
  work: (store: Store) => Promise<void>,
): Promise<void> {
  const path = sqlitePath(options.databaseUrl)
  const lock = keepServersOff(options, now, 'teslim copy')
  try {
    const { store } = await openSqliteStore({
      path,
      now,
      limits: limitsOf(options),
      withoutThreads: true,
      evenMoved: true,
    })
    await work(store).finally(() => store.close())
    unmarkMoved(path)
  } finally {
    lock.release()
  }
}
