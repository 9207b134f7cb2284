// `npm run version -- 1.0.1` writes the version wherever it is named; without a version it lists places that name another than package.json.
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const VERSION = /\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?/.source
/** What stands before the version of teslim: in the manifests, in `openapi.yaml`, in files of containers, and in names of the package. */
const BEFORE = [
  '"name": "teslim",\\s+"version": "',
  '^ {2}version: ',
  'image\\.version="',
  'newTag: ',
  '\\bteslim:',
  '\\bteslim-(?=[^\\s]+\\.tgz)',
]
const NAMED = new RegExp(`(${BEFORE.join('|')})(${VERSION})`, 'gm')

/** Tests, tools and decisions name versions that were never released. */
const FILES = ['*', '.github/**', 'deploy/**', 'docs/**', 'examples/**', 'src/**']
const LEFT_OUT = /^(?:CHANGELOG\.md|docs\/decisions\/|docs\/performance-log)|\.(?:png|jpg|db)$/

export interface Named {
  readonly file: string
  readonly line: number
  readonly version: string
}

/** Returns where files name the version of teslim. */
export function namedVersions(root: string): Named[] {
  return textsOf(root).flatMap(([file, text]) =>
    Array.from(text.matchAll(NAMED), ({ 0: all, 2: version = '', index }) => ({
      file,
      line: text.slice(0, index + all.length).split('\n').length,
      version,
    })),
  )
}

export const versionOf = (root: string): string => JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version

/** Returns a line for each place that names another version than package.json. */
export function otherVersions(root: string): string[] {
  const wanted = versionOf(root)
  return namedVersions(root)
    .filter(({ version }) => version !== wanted)
    .map(({ file, line, version }) => `${file}:${line} has ${version}, package.json ${wanted}`)
}

/** Writes a version wherever one is named, and over the changes that have none yet. Returns the files that it changed. */
export function setVersion(root: string, version: string): string[] {
  if (!new RegExp(`^${VERSION}$`).test(version)) throw new Error(`a version is 1.0.1 or 1.0.1-rc.1, not "${version}"`)
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const changed = [
    ...textsOf(root).map(([file, text]) => [file, text, text.replaceAll(NAMED, `$1${version}`)] as const),
    ['CHANGELOG.md', changelog, changelog.replace(/^## Unreleased$/m, `## ${version}`)] as const,
  ].filter(([, before, after]) => after !== before)
  for (const [file, , after] of changed) writeFileSync(join(root, file), after)
  return changed.map(([file]) => file)
}

const textsOf = (root: string): [string, string][] =>
  globSync(FILES, { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !LEFT_OUT.test(file) && statSync(join(root, file)).isFile())
    .sort()
    .map((file) => [file, readFileSync(join(root, file), 'utf8')])

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..')
  const [version] = process.argv.slice(2)
  if (version === undefined) {
    const others = otherVersions(root)
    console.log(others.length > 0 ? others.join('\n') : `every place names ${versionOf(root)}`)
    if (others.length > 0) console.log(`npm run version -- ${versionOf(root)} writes it everywhere`)
    if (others.length > 0) process.exitCode = 1
  } else {
    console.log(setVersion(root, version).join('\n'))
    // A new process, because this one has read the version before.
    execFileSync(process.execPath, ['tools/openapi.ts'], { cwd: root, stdio: 'inherit' })
  }
}
