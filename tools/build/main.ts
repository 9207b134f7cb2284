// `npm run build` makes what is shipped, in `dist` or in the folder that `--out` names.
import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle, OUTSIDE } from './bundle.ts'
import { inOrder, jsonOf, ROOT } from './files.ts'
import { commitOfCheckout, librarySources, packageOf } from './package.ts'
import { billOf, licencesOf, partsOf } from './parts.ts'
import { tgz } from './tgz.ts'

const { values } = parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'dist') } } })
const out = resolve(values.out)
const { version } = jsonOf('package.json')

const made = bundle()
const parts = partsOf([...made.sources, ...librarySources, `node_modules/${OUTSIDE}/`])
const licences = licencesOf(parts)
const shipped: Record<string, Uint8Array | string> = {
  [`teslim-${version}.tgz`]: tgz(packageOf(made, { commit: commitOfCheckout(), form: 'package' }, licences)),
  'LICENSES.txt': licences,
  'sbom.json': billOf(version, parts),
}
const sums = inOrder(Object.entries(shipped)).map(([name, content]) => {
  return `${createHash('sha256').update(content).digest('hex')}  ${name}\n`
})
rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
for (const [name, content] of Object.entries({ ...shipped, SHA256SUMS: sums.join('') })) {
  writeFileSync(join(out, name), content)
  console.log(`${(content.length / 1e6).toFixed(1).padStart(6)} MB  ${name}`)
}
