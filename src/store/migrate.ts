import { readdirSync, readFileSync } from 'node:fs'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from './store.errors.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
  /** The oldest migration that a program must know to work with a store that has this one. */
  readonly oldest: number
}

/** The migrations that a store has. */
export interface SchemaState {
  /** The number of the last one. */
  readonly applied: number
  /** The greatest `oldest` of these migrations. */
  readonly oldest: number
}

export const EMPTY: SchemaState = { applied: 0, oldest: 0 }

const RUNS_WITH = /^-- Runs with programs from (\d{4}) on/m
const FILE = /^(\d{4})-([a-z0-9-]+)\.sql$/

/**
 * Reads the numbered files of a folder, which count from 1 without a gap. A line `-- Runs with programs from 0003 on` says that
 * programs which know the migrations up to 0003 still work after this one.
 */
export function readMigrations(folder: URL): Migration[] {
  const files = readdirSync(folder).sort()
  return files.map((file, index) => {
    const [, digits, name] = FILE.exec(file) ?? []
    if (name === undefined || Number(digits) !== index + 1) {
      throw new Error(`${file} breaks the numbering of the migrations in ${folder.pathname}`)
    }
    const sql = readFileSync(new URL(file, folder), 'utf8')
    return { number: index + 1, name, sql, oldest: Number(RUNS_WITH.exec(sql)?.[1] ?? digits) }
  })
}

/** Returns the migrations still to apply. During a rollout the store may have newer ones that an older program works with. */
export function pendingMigrations(migrations: readonly Migration[], { applied, oldest }: SchemaState): Migration[] {
  if (oldest > migrations.length) {
    throw new AppError(storeErrors.newer, {
      message: `The store is at schema ${applied}, this teslim knows schemas up to ${migrations.length}: run the version that made it, or a later one.`,
    })
  }
  return migrations.slice(applied)
}

export const migrationName = ({ number, name }: Migration): string => `${String(number).padStart(4, '0')}-${name}`
