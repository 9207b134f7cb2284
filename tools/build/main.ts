// `npm run build` makes what is shipped, in `dist`.
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle, OUTSIDE } from './bundle.ts'
import { makeExecutables } from './executable/executable.ts'
import { inOrder, jsonOf, ROOT } from './files.ts'
import { commitOfCheckout, librarySources, packageOf } from './package.ts'
import { billOf, licencesOf, partsOf } from './parts.ts'
import { tgz } from './tgz.ts'

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(ROOT, 'dist') },
    // A folder of unpacked downloads of Node. Without it executables are made of what npm has installed, and are for trying.
    node: { type: 'string' },
    'package-only': { type: 'boolean', default: false },
  },
})
const { version } = jsonOf('package.json')

const made = bundle()
const parts = partsOf([...made.sources, ...librarySources, `node_modules/${OUTSIDE}/`])
const files = packageOf(made, { commit: commitOfCheckout(), form: 'package' }, licencesOf(parts))
const executables = values['package-only'] ? [] : makeExecutables(files, made, values.node)
const all = [...parts, ...executables.map(({ node }) => node)]

const shipped = new Map<string, Uint8Array | string>([
  [`teslim-${version}.tgz`, tgz(files)],
  ...executables.map(({ platform, bytes }): [string, Uint8Array] => [`teslim-${platform}`, bytes]),
  ['LICENSES.txt', licencesOf(all)],
  ['sbom.json', billOf(version, all)],
])
const sums = inOrder(shipped).map(([name, content]) => {
  return `${createHash('sha256').update(content).digest('hex')}  ${name}\n`
})
shipped.set('SHA256SUMS', sums.join(''))

const out = resolve(values.out)
rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
for (const [name, content] of shipped) {
  const path = join(out, name)
  writeFileSync(path, content)
  if (executables.some(({ platform }) => name === `teslim-${platform}`)) chmodSync(path, 0o755)
  console.log(`${(content.length / 1e6).toFixed(1).padStart(6)} MB  ${name}`)
}
