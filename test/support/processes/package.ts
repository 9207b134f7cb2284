import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../../..')

/** Builds what is shipped into a folder. */
export const build = (out: string, ...options: string[]): void =>
  void execFileSync(process.execPath, ['tools/build/main.ts', '--out', out, ...options], { cwd: ROOT })

/** Unpacks the package of a build into a folder, beside what npm would install with it, and returns its program. */
export function unpack(dist: string, folder: string): string {
  for (const tgz of globSync('*.tgz', { cwd: dist })) execFileSync('tar', ['-xzf', join(dist, tgz), '-C', folder])
  const modules = join(folder, 'package/node_modules/@node-rs')
  mkdirSync(modules, { recursive: true })
  for (const name of globSync('argon2*', { cwd: join(ROOT, 'node_modules/@node-rs') }))
    cpSync(join(ROOT, 'node_modules/@node-rs', name), join(modules, name), { recursive: true })
  return join(folder, 'package/bin/teslim.js')
}
