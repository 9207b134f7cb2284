import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import { type Bundle, OUTSIDE } from './bundle.ts'
import { bytesOf, copied, type Files, jsonOf, ROOT, toFile } from './files.ts'

/** What the program reads while it runs. */
const READ = 'src/{{console,docs}/page/index,console/page/texts/*,page/mark,store/{sqlite,postgres}/migrations/*}.*'
const GUIDES = ['suppliers', 'tr/suppliers', 'api-customers', 'errors']
const DOCUMENTS = ['README.md', 'LICENSE', ...GUIDES.map((name) => `docs/${name}.md`)]

const manifest = jsonOf('package.json')
const { version, description, license, homepage, repository, bugs, engines, bin, dependencies } = manifest

/** The commit of the checkout, with `-dirty` if files have changed since; null where there is no git, or where this is no repository. */
export function commitOfCheckout(): string | null {
  const named = ['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*']
  // A repository around this folder has other commits.
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(ROOT) }
  const { status, stdout } = spawnSync('git', named, { cwd: ROOT, env, encoding: 'utf8' })
  return status === 0 ? stdout.trim() : null
}

interface Built {
  readonly commit: string | null
  readonly form: 'package' | 'container'
}

/** Returns the files of the npm package, whose folders are those of the checkout, but for `program` instead of `src`. */
export const packageOf = ({ files }: Bundle, built: Built, licences: string): Files =>
  new Map([
    ...files,
    ...copied(READ, (path) => path.replace('src/', 'program/')),
    ['bin/teslim.js', bytesOf('bin/teslim.js')],
    ...DOCUMENTS.map((path): [string, Uint8Array] => [path, bytesOf(path)]),
    ['LICENSES.txt', toFile(licences)],
    ['package.json', toFile(`${JSON.stringify(manifestOf(built), null, 2)}\n`)],
  ])

const manifestOf = (built: Built) => ({
  name: 'teslim',
  version,
  description,
  license,
  homepage,
  repository,
  bugs,
  type: 'module',
  engines,
  bin,
  imports: { '#src/main.ts': './program/main.js' },
  dependencies: { [OUTSIDE]: dependencies[OUTSIDE] },
  built,
})
