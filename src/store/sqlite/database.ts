import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '../store.errors.ts'

export type Row = Record<string, unknown>
type Values = readonly (string | number | bigint | Uint8Array | null)[]

/**
 * A thin coat over node:sqlite against its traps: statements are prepared once, a wrong number of parameters is an
 * error (SQLite would bind NULL), writes run inside BEGIN IMMEDIATE, and no driver error gets out.
 */
export interface Database {
  get(sql: string, ...values: Values): Row | undefined
  all(sql: string, ...values: Values): Row[]
  /** The number of rows changed. */
  run(sql: string, ...values: Values): number
  /** Several statements without parameters, for migrations. */
  script(sql: string): void
  transaction<Result>(work: () => Result): Result
  close(): void
}

export function openDatabase(path: string): Database {
  const connection = connect(path)
  const statements = new Map<string, { statement: StatementSync; parameters: number }>()

  const prepare = (sql: string, values: Values): StatementSync => {
    let prepared = statements.get(sql)
    if (prepared === undefined) {
      prepared = { statement: connection.prepare(sql), parameters: countParameters(sql) }
      statements.set(sql, prepared)
    }
    if (prepared.parameters !== values.length) {
      throw new Error(`${prepared.parameters} parameters expected, ${values.length} given: ${sql}`)
    }
    return prepared.statement
  }

  const database: Database = {
    get: (sql, ...values) => guard(() => prepare(sql, values).get(named(values)) as Row | undefined),
    all: (sql, ...values) => guard(() => prepare(sql, values).all(named(values)) as Row[]),
    run: (sql, ...values) => guard(() => Number(prepare(sql, values).run(named(values)).changes)),
    script: (sql) => guard(() => connection.exec(sql)),
    transaction(work) {
      guard(() => connection.exec('BEGIN IMMEDIATE'))
      try {
        const result = work()
        guard(() => connection.exec('COMMIT'))
        return result
      } catch (error) {
        // A full disk has rolled back already; a second ROLLBACK would hide the first error.
        if (connection.isTransaction) connection.exec('ROLLBACK')
        throw error
      }
    },
    close: () => connection.close(),
  }
  return database
}

function connect(path: string): DatabaseSync {
  try {
    // The file holds password hashes and private keys, so it is made readable to its owner only, and -wal, -shm like it.
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    closeSync(openSync(path, 'a', 0o600))
    const connection = new DatabaseSync(path)
    // busy_timeout first: changing the journal mode may itself have to wait for another process.
    connection.exec('PRAGMA busy_timeout = 5000')
    connection.exec('PRAGMA journal_mode = WAL')
    connection.exec('PRAGMA synchronous = FULL')
    connection.exec('PRAGMA foreign_keys = ON')
    return connection
  } catch (cause) {
    throw new AppError(storeErrors.cannotOpen, {
      message: `The store ${path} cannot be opened: ${(cause as Error).message}`,
      cause,
    })
  }
}

/** Statements are written with `$1`, `$2`, ..., as PostgreSQL wants them; SQLite binds those by name. */
const named = (values: Values): Record<string, SQLInputValue> =>
  Object.fromEntries(values.map((value, index) => [index + 1, value]))

const countParameters = (sql: string): number =>
  Math.max(0, ...Array.from(sql.matchAll(/\$(\d+)/g), ([, number]) => Number(number)))

/** SQLite's primary result codes for "not now" and "not here": the disk, a lock, a permission. */
const UNAVAILABLE = new Set([5, 6, 8, 10, 11, 13, 14, 15, 23, 26])

function guard<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (cause) {
    const { code, errcode = 0, message } = cause as Error & { code?: string; errcode?: number }
    const closed = code === 'ERR_INVALID_STATE'
    if (!closed && !UNAVAILABLE.has(errcode & 0xff)) throw cause
    throw new AppError(storeErrors.unavailable, { reason: message, cause })
  }
}
