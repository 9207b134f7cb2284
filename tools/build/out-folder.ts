import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './files.ts'

const SUMS = 'SHA256SUMS'

/** Makes the folder, or removes what an earlier build made there. Throws if it has anything else; `made` are the paths to come. */
export function emptyOut(out: string, made: Iterable<string>): void {
  const found = existsSync(out) ? readdirSync(out) : []
  const known = new Set(Array.from(made, (path) => path.split('/', 1)[0]))
  const sums = found.includes(SUMS) ? readFileSync(join(out, SUMS), 'utf8') : ''
  const isMade = (name: string): boolean =>
    known.has(name) || (name.startsWith('teslim-') && sums.includes(`  ${name}\n`))
  const isBuild = found.length === 0 || found.includes(SUMS) || found.includes('program')
  if (out !== join(ROOT, 'dist') && !(isBuild && found.every(isMade)))
    throw new Error(`${out} has files that no build made: name an empty folder`)
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
}
