import { accessSync, constants, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { AppError, reasonOf } from '#src/lib/app-error.ts'
import { monotonicMilliseconds } from '#src/lib/clock.ts'
import type { Answer, Value } from '../sql/work.ts'
import { storeErrors } from '../store.errors.ts'
import { guard, isBusy, translated } from './failures.ts'
import { prepareStatement, type Row, type Statement, sqliteValue, type Values } from './statement.ts'
import { existingFile, immutableFile } from './store-file.ts'

export type { Row } from './statement.ts'

/**
 * A thin layer over node:sqlite against its traps: statements are prepared once, a wrong number of parameters is an error
 * (SQLite would bind NULL), transactions are BEGIN IMMEDIATE, and callers never see a driver error.
 */
export interface Database {
  readonly path: string
  /** Runs any statement. */
  ask(sql: string, values: readonly Value[]): Answer
  get(sql: string, ...values: Values): Row | undefined
  all(sql: string, ...values: Values): Row[]
  /** Reads the rows one by one. */
  iterate(sql: string): Iterable<Row>
  /** Returns the number of rows changed. */
  run(sql: string, ...values: Values): number
  /** Returns the rowid of the row inserted. */
  insert(sql: string, ...values: Values): number
  /** Throws if a statement does not fit the schema as it is now. Does not run it. */
  check(sql: string): void
  /** Runs several statements without parameters. */
  script(sql: string): void
  transaction<Result>(work: () => Result): Result
  /** Sets how long, by `monotonicMilliseconds`, transactions wait for the lock of another process. */
  waitForLockUntil(deadline: number): void
  /** Runs a part of a transaction that can fail alone. */
  savepoint<Result>(work: () => Result): Result
  close(): void
}

/**
 * Pages of 4 KiB that the write-ahead log takes before a commit copies them into the file. A server's log is copied beside its commits,
 * long before: see thread/checkpoints.ts.
 */
const PAGES_OF_LOG = 16_000

/** The log grows while somebody reads a large part of the store, such as a backup. It is cut to this size afterwards. */
const MAX_BYTES_OF_LOG = 64 * 1024 * 1024

/** How long to wait for the lock of another process, unless a deadline is set. */
const PATIENCE_MILLISECONDS = 5000
/** SQLite blocks the thread while it waits, so it waits in short parts. */
export const SHORT_WAIT_MILLISECONDS = 100

/** What somebody has put into the schema of a file may call only harmless functions. */
const UNTRUSTED = 'PRAGMA trusted_schema = OFF'

export interface OpenOptions {
  /** Creates nothing and allows no changes. */
  readonly readOnly?: boolean
  /** With `readOnly`: makes no file beside it either, for a file that nothing changes. */
  readonly immutable?: boolean
}

export function openDatabase(path: string, options: OpenOptions = {}): Database {
  const connection = connect(path, options)
  const statements = new Map<string, Statement>()
  let lockDeadline: number | undefined

  const prepare = (sql: string, values: Values): Statement => {
    let prepared = statements.get(sql)
    if (prepared === undefined) {
      prepared = guard(() => prepareStatement(connection, sql))
      statements.set(sql, prepared)
    }
    if (prepared.parameters !== values.length) {
      throw new Error(`${prepared.parameters} parameters expected, ${values.length} given: ${sql}`)
    }
    return prepared
  }

  const beginImmediate = (): void => {
    const deadline = lockDeadline ?? monotonicMilliseconds() + PATIENCE_MILLISECONDS
    for (;;) {
      try {
        connection.exec('BEGIN IMMEDIATE')
        return
      } catch (error) {
        // Each try has waited already, for SHORT_WAIT_MILLISECONDS.
        if (!isBusy(error) || monotonicMilliseconds() >= deadline) throw translated(error)
      }
    }
  }

  const within = <Result>(begin: () => void, commit: string, rollback: string, work: () => Result): Result => {
    begin()
    try {
      const result = work()
      guard(() => connection.exec(commit))
      return result
    } catch (error) {
      // After a full disk SQLite has rolled back already, and a second ROLLBACK would hide the first error.
      if (connection.isTransaction) connection.exec(rollback)
      throw error
    }
  }

  return {
    path,
    ask(sql, given) {
      const values = given.map(sqliteValue)
      const statement = prepare(sql, values)
      if (statement.returnsRows) {
        const rows = statement.all(values)
        return { rows, count: rows.length }
      }
      return { rows: [], count: Number(statement.run(values).changes) }
    },
    get: (sql, ...values) => prepare(sql, values).get(values),
    all: (sql, ...values) => prepare(sql, values).all(values),
    *iterate(sql) {
      try {
        yield* connection.prepare(sql).iterate() as Iterable<Row>
      } catch (error) {
        throw translated(error)
      }
    },
    run: (sql, ...values) => Number(prepare(sql, values).run(values).changes),
    insert: (sql, ...values) => Number(prepare(sql, values).run(values).lastInsertRowid),
    check: (sql) => void prepareStatement(connection, sql),
    script: (sql) => guard(() => connection.exec(sql)),
    transaction: (work) => within(beginImmediate, 'COMMIT', 'ROLLBACK', work),
    waitForLockUntil: (deadline) => {
      lockDeadline = deadline
    },
    savepoint: (work) =>
      within(
        () => guard(() => connection.exec('SAVEPOINT part')),
        'RELEASE part',
        'ROLLBACK TO part; RELEASE part',
        work,
      ),
    close: () => connection.close(),
  }
}

function connect(path: string, { readOnly = false, immutable = false }: OpenOptions): DatabaseSync {
  return opening(path, () => {
    if (readOnly) return connectReadOnly(immutable ? immutableFile(path) : path)
    // SQLite would open a file without write permission and fail at the first write.
    accessSync(path, constants.R_OK | constants.W_OK)
    const connection = new DatabaseSync(existingFile(path))
    connection.exec(`PRAGMA busy_timeout = ${SHORT_WAIT_MILLISECONDS}`)
    connection.exec('PRAGMA synchronous = FULL')
    connection.exec(`PRAGMA wal_autocheckpoint = ${PAGES_OF_LOG}`)
    connection.exec(`PRAGMA journal_size_limit = ${MAX_BYTES_OF_LOG}`)
    connection.exec('PRAGMA foreign_keys = ON')
    connection.exec(UNTRUSTED)
    connection.exec('PRAGMA secure_delete = FAST')
    return connection
  })
}

/** Lets a new file give unused room back. Litestream may have added its tables to it: then SQLite changes that only with a rewrite. */
export function useAutoVacuum(database: Database): void {
  database.script('PRAGMA auto_vacuum = INCREMENTAL')
  if (database.get('PRAGMA auto_vacuum')?.auto_vacuum === 0) database.script('VACUUM')
}

/** Changes the file permanently. May have to wait for another process that does the same. */
export function useWriteAheadLog(database: Database): void {
  database.script(`
    PRAGMA busy_timeout = ${PATIENCE_MILLISECONDS};
    PRAGMA journal_mode = WAL;
    PRAGMA busy_timeout = ${SHORT_WAIT_MILLISECONDS}`)
}

/** Runs a transaction that a power cut may undo, without waiting for the disk. */
export function withoutSync<Result>(database: Database, work: () => Result): Result {
  database.script('PRAGMA synchronous = NORMAL')
  try {
    return database.transaction(work)
  } finally {
    database.script('PRAGMA synchronous = FULL')
  }
}

/** Turns any error of opening a store into a message for operators. */
export function opening<Result>(path: string, work: () => Result): Result {
  try {
    return work()
  } catch (cause) {
    throw cannotOpen(path, cause)
  }
}

export function cannotOpen(path: string, cause: unknown): AppError {
  if (cause instanceof AppError) return cause
  // For a folder SQLite names a fault of the disk, or nothing.
  const why = isFolder(path) ? 'it is a folder, name a file in it' : reasonOf(translated(cause))
  return new AppError(storeErrors.cannotOpen, { message: `The store ${path} cannot be opened: ${why}`, cause })
}

/** False where this process may not even look. */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

function connectReadOnly(path: string | URL): DatabaseSync {
  const connection = new DatabaseSync(path, { readOnly: true })
  connection.exec(`PRAGMA busy_timeout = ${PATIENCE_MILLISECONDS}; ${UNTRUSTED}`)
  // Opening alone does not read the file.
  connection.exec('SELECT 1 FROM sqlite_schema')
  return connection
}
