import { createHash } from 'node:crypto'
import { AppError } from '#src/lib/app-error.ts'
import { listProgramFiles, readProgramFile } from '#src/lib/program-files.ts'
import { VERSION } from '#src/lib/version.ts'
import { storeErrors } from './store.errors.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
  /** SHA-256 of `sql`. A store that has another text under this number was not made by this version. */
  readonly checksum: string
  /** The oldest migration that a program must know to work with a store that has this one. */
  readonly oldest: number
}

/** A row of `schema_migration`. */
export interface Applied extends Omit<Migration, 'sql'> {
  /** Of the teslim that applied it. */
  readonly version: string
}

const RUNS_WITH = /^-- Runs with programs from (\d{4}) on/m
const FILE = /^(\d{4})-([a-z0-9-]+)\.sql$/

/**
 * Reads the numbered files of a folder, which count from 1 without a gap. A line `-- Runs with programs from 0003 on` says that
 * programs which know the migrations up to 0003 still work after this one.
 */
export function readMigrations(folder: URL): Migration[] {
  const files = listProgramFiles(folder)
  return files.map((file, index) => {
    const [, digits, name] = FILE.exec(file) ?? []
    if (name === undefined || Number(digits) !== index + 1) {
      throw new Error(`${file} breaks the numbering of the migrations in ${folder.pathname}`)
    }
    const sql = readProgramFile(new URL(file, folder))
    const checksum = createHash('sha256').update(sql).digest('hex')
    return { number: index + 1, name, sql, checksum, oldest: Number(RUNS_WITH.exec(sql)?.[1] ?? digits) }
  })
}

/** Returns the migrations still to apply. During a rollout the store may have newer ones that an older program works with. */
export function pendingMigrations(migrations: readonly Migration[], applied: readonly Applied[]): Migration[] {
  const { number: last = 0, version } = applied.at(-1) ?? {}
  if (applied.some(({ oldest }) => oldest > migrations.length)) {
    throw new AppError(storeErrors.newer, {
      message: `The store is at schema ${last}, teslim ${VERSION} knows schemas up to ${migrations.length}: run teslim ${version} or a later one.`,
    })
  }
  const other = applied.find(({ number, name, checksum }) => {
    const known = migrations[number - 1]
    return known !== undefined && (known.name !== name || known.checksum !== checksum)
  })
  if (other !== undefined) {
    const known = migrations[other.number - 1] as Migration
    throw new AppError(storeErrors.otherSchema, {
      message: `The store was made by another version of teslim: its migration ${described(other)} is not the ${described(known)} of this one. Nothing was changed. Use the version that made it; its "teslim delivery export" writes the deliveries, payloads included.`,
    })
  }
  return migrations.slice(last)
}

export const migrationName = ({ number, name }: Pick<Migration, 'number' | 'name'>): string =>
  `${String(number).padStart(4, '0')}-${name}`

const described = (migration: Applied | Migration): string =>
  `${migrationName(migration)} (${migration.checksum.slice(0, 12)})`

/** `version` is that of teslim. Both databases understand it. */
export const MIGRATION_TABLE = `
  CREATE TABLE IF NOT EXISTS schema_migration (
    number     integer NOT NULL PRIMARY KEY,
    name       text    NOT NULL,
    checksum   text    NOT NULL,
    applied_at bigint  NOT NULL,
    oldest     integer NOT NULL,
    version    text    NOT NULL
  )`

export const ADD_MIGRATION =
  'INSERT INTO schema_migration (number, name, checksum, applied_at, oldest, version) VALUES ($1, $2, $3, $4, $5, $6)'

/** What it takes. */
export const addedMigration = ({ number, name, checksum, oldest }: Migration, now: number) =>
  [number, name, checksum, now, oldest, VERSION] as const

export const APPLIED = 'SELECT number, name, checksum, oldest, version FROM schema_migration ORDER BY number'
