// Prints what production runs on, as CycloneDX. `npm sbom --omit=dev` alone leaves out what a development dependency needs
// too, pg among them (npm 11): so npm is shown a package that has no development dependencies.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const read = (name) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'))
const manifest = { ...read('package.json'), devDependencies: {} }
const lock = read('package-lock.json')
const isProduction = ([, { dev, devOptional, link }]) => !dev && !devOptional && !link
const packages = Object.fromEntries(Object.entries(lock.packages).filter(isProduction))
packages[''].devDependencies = {}
delete packages['tools/node']

const folder = mkdtempSync(join(tmpdir(), 'teslim-sbom-'))
// npm calls the whole by the name of its folder.
const cwd = join(folder, manifest.name)
try {
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(cwd, 'package-lock.json'), JSON.stringify({ ...lock, packages }))
  const args = ['sbom', '--package-lock-only', '--offline', '--sbom-format=cyclonedx']
  execFileSync('npm', args, { cwd, stdio: 'inherit', shell: process.platform === 'win32' })
} finally {
  rmSync(folder, { recursive: true })
}
