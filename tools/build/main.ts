// `npm run build` makes what is shipped, in `dist`.
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { isSafeNode } from '#src/doctor/checks.ts'
import { bundle, OUTSIDE } from './bundle.ts'
import { makeExecutables } from './executable/executable.ts'
import { copied, inOrder, jsonOf, ROOT } from './files.ts'
import { emptyOut } from './out-folder.ts'
import { commitOfCheckout, packageOf } from './package.ts'
import { billOf, licencesOf, partsOf } from './parts.ts'
import { tgz } from './tgz.ts'

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(ROOT, 'dist') },
    // A folder of unpacked downloads of Node, and of packages of argon2 for other platforms as `npm pack` downloads them.
    // Without it executables are made of what npm has installed, and are for trying.
    node: { type: 'string' },
    // Refuses a Node that has known faults.
    release: { type: 'boolean', default: false },
    'package-only': { type: 'boolean', default: false },
    // Makes the folder of the container's application instead, with the native part of argon2 for this platform.
    container: { type: 'boolean', default: false },
    // Where git cannot tell.
    commit: { type: 'string' },
  },
})
const { version } = jsonOf('package.json')
const commit = values.commit || commitOfCheckout()
if (commit === null) console.log('no commit is named: this is not a git repository, or git is not installed')

const made = bundle()
const parts = partsOf([...made.sources, `node_modules/${OUTSIDE}/`])
const form = values.container ? 'container' : 'package'
const files = packageOf(made, { commit, form }, licencesOf(parts))
const shipped = values.container ? container() : downloads()

const out = resolve(values.out)
emptyOut(out, shipped.keys())
for (const [name, content] of shipped) {
  const path = join(out, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  if (/^(?:bin\/|teslim-[\w-]+$)/.test(name)) chmodSync(path, 0o755)
  if (!values.container) console.log(`${(content.length / 1e6).toFixed(1).padStart(6)} MB  ${name}`)
}

/** What somebody downloads to install teslim. */
function downloads(): Map<string, Uint8Array | string> {
  const options = { downloads: values.node, check: values.release ? refuseUnsafe : undefined }
  const executables = values['package-only'] ? [] : makeExecutables(files, made, options)
  const all = [...parts, ...executables.map(({ node }) => node)]
  const named = new Map<string, Uint8Array | string>([
    [`teslim-${version}.tgz`, tgz(files)],
    ...executables.map(({ platform, bytes }): [string, Uint8Array] => [`teslim-${platform}`, bytes]),
    ['LICENSES.txt', licencesOf(all)],
    ['sbom.json', billOf(version, all)],
  ])
  const sums = inOrder(named).map(([name, content]) => {
    return `${createHash('sha256').update(content).digest('hex')}  ${name}\n`
  })
  return named.set('SHA256SUMS', sums.join(''))
}

function refuseUnsafe(version: string): void {
  if (isSafeNode(version)) return
  throw new Error(`a release cannot have Node ${version}, which lacks security fixes: name a newer one by --node DIR`)
}

/** The package as npm would install it, with what it depends on. */
function container(): Map<string, Uint8Array | string> {
  const { platform, arch } = process
  const native = `${OUTSIDE}-${platform}-${arch}-gnu`
  return new Map([...files, ...copied(`node_modules/{${OUTSIDE},${native}}/*.{js,json,node}`)])
}
