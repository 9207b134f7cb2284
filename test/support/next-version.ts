import { cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tempFolder } from './temp-folder.ts'

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url))

/** Makes a checkout of the same tree with a migration 0002 of these texts, and returns its program. */
export function nextVersion(migration: { readonly sqlite: string; readonly postgres: string }): string {
  const folder = tempFolder()
  for (const part of ['bin', 'src', 'package.json'])
    cpSync(join(CHECKOUT, part), join(folder, part), { recursive: true })
  symlinkSync(join(CHECKOUT, 'node_modules'), join(folder, 'node_modules'))
  for (const [database, sql] of Object.entries(migration))
    writeFileSync(join(folder, 'src/store', database, 'migrations/0002-next.sql'), sql)
  return join(folder, 'bin/teslim.js')
}
