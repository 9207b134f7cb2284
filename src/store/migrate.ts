import { readdirSync, readFileSync } from 'node:fs'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from './store.errors.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
}

const FILE = /^(\d{4})-([a-z0-9-]+)\.sql$/

/** The numbered files of a folder, in order, counting from 1 without a gap. */
export function readMigrations(folder: URL): Migration[] {
  const files = readdirSync(folder).sort()
  return files.map((file, index) => {
    const [, digits, name] = FILE.exec(file) ?? []
    if (name === undefined || Number(digits) !== index + 1) {
      throw new Error(`${file} breaks the numbering of the migrations in ${folder.pathname}`)
    }
    return { number: index + 1, name, sql: readFileSync(new URL(file, folder), 'utf8') }
  })
}

/** What is still to be applied to a store whose last applied migration is `applied`. */
export function pendingMigrations(migrations: readonly Migration[], applied: number): Migration[] {
  if (applied > migrations.length) {
    throw new AppError(storeErrors.newer, {
      message: `The store is at schema ${applied}, this teslim knows schemas up to ${migrations.length}: run the version that made it, or a later one.`,
    })
  }
  return migrations.slice(applied)
}

export const migrationName = ({ number, name }: Migration): string => `${String(number).padStart(4, '0')}-${name}`
