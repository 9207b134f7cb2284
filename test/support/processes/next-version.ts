import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bundle } from '../../../tools/build/bundle.ts'
import { makeExecutables } from '../../../tools/build/executable/executable.ts'
import { packageOf } from '../../../tools/build/package.ts'
import { tempFolder } from '../temp-folder.ts'
import { SCRIPT } from './process.ts'

/** The folder of a package, or of the checkout. */
const ROOT = join(dirname(SCRIPT), '..')
const PROGRAM = existsSync(join(ROOT, 'program')) ? 'program' : 'src'

interface Migration {
  readonly sqlite: string
  readonly postgres: string
}

/** What this version says that it is, and the next one. */
export const THIS_VERSION: string = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version
export const NEXT_VERSION = '9.0.0'
const manifestOf = (text: string): string => JSON.stringify({ ...JSON.parse(text), version: NEXT_VERSION })

/** The migrations of a tree, such as 0001-schema. */
const migrationsIn = (root: string): readonly string[] =>
  readdirSync(join(root, PROGRAM, 'store/sqlite/migrations'))
    .map((file) => file.replace('.sql', ''))
    .toSorted()
const nextTo = (migrations: readonly string[]): string => `${String(migrations.length + 1).padStart(4, '0')}-next`

export const MIGRATIONS = migrationsIn(ROOT)
/** The one that a next version adds. */
export const NEXT_MIGRATION = nextTo(MIGRATIONS)

/** Copies what is under test, or the tree of another program, with one more migration of these texts, and returns the program of the copy. */
export function nextVersion(migration: Migration, program = SCRIPT): string {
  const root = join(dirname(program), '..')
  const folder = tempFolder()
  for (const part of ['bin', PROGRAM, 'package.json']) cpSync(join(root, part), join(folder, part), { recursive: true })
  const manifest = join(folder, 'package.json')
  writeFileSync(manifest, manifestOf(readFileSync(manifest, 'utf8')))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const name = nextTo(migrationsIn(root))
  for (const [database, sql] of Object.entries(migration))
    writeFileSync(join(folder, PROGRAM, 'store', database, 'migrations', `${name}.sql`), sql)
  return join(folder, 'bin/teslim.js')
}

/** Makes the executables of this tree, and of the same tree with one more migration of these texts; undefined if the build makes none that runs here. */
export function executablesOf(migration: Migration): { readonly now: string; readonly next: string } | undefined {
  const made = bundle()
  const files = packageOf(made, { commit: null, form: 'package' }, '')
  const added = Object.entries(migration).map(([database, sql]): [string, Uint8Array] => [
    `program/store/${database}/migrations/${NEXT_MIGRATION}.sql`,
    Buffer.from(sql),
  ])
  const manifest = Buffer.from(manifestOf(String(Buffer.from(files.get('package.json') ?? []))))
  const folder = tempFolder()
  const write = (name: string, all: typeof files): string | undefined => {
    const here = makeExecutables(all, made).find(({ platform }) => platform === `${process.platform}-${process.arch}`)
    if (here === undefined) return undefined
    writeFileSync(join(folder, name), here.bytes)
    return join(folder, name)
  }
  const now = write('now', files)
  const next = now && write('next', new Map([...files, ...added, ['package.json', manifest]]))
  return now && next ? { now, next } : undefined
}
