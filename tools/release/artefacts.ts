// What must hold of the files in `dist` before anybody uploads them. Each function returns what is wrong.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isSafeNode } from '#src/doctor/checks.ts'
import { PLATFORMS } from '../build/executable/executable.ts'
import { readTested, sha256 } from './tested.ts'

const HERE = `teslim-${process.platform}-${process.arch}`
const SUMS = 'SHA256SUMS'
export const SIGNATURE = `${SUMS}.sig`

export interface Wanted {
  readonly version: string
  readonly commit: string
}

/** What is started: the package and the executables. */
export const programsOf = (version: string): string[] => [
  ...PLATFORMS.map((platform) => `teslim-${platform}`),
  `teslim-${version}.tgz`,
]
export const artefactsOf = (version: string): string[] => ['LICENSES.txt', 'sbom.json', ...programsOf(version)]

/** Compares the files of a folder with their checksums, and with those that a release has. */
export function wrongFiles(dist: string, version: string): string[] {
  if (!existsSync(join(dist, SUMS)))
    return [`there is no ${join(dist, SUMS)}: run npm run build -- --release --node DIR`]
  const sums = new Map(
    Array.from(
      readFileSync(join(dist, SUMS), 'utf8').matchAll(/^([\da-f]{64}) {2}(.+)$/gm),
      ([, sum = '', name = '']) => [name, sum],
    ),
  )
  const wanted = artefactsOf(version)
  const problems = wanted.flatMap((name) => {
    if (!existsSync(join(dist, name))) return [`${name} is missing`]
    return sums.get(name) === sha256(readFileSync(join(dist, name)))
      ? []
      : [`${name} has another checksum than in ${SUMS}`]
  })
  const known = [...wanted, SUMS, SIGNATURE]
  const others = new Set([...readdirSync(dist), ...sums.keys()].filter((name) => !known.includes(name)))
  return [...problems, ...[...others].map((name) => `${name} is no part of a release of ${version}`)]
}

/** Asks the package and the executable of this machine what they are, and the bill of materials which Node is inside. */
export function wrongInside(dist: string, { version, commit }: Wanted): string[] {
  const tgz = join(dist, `teslim-${version}.tgz`)
  if (!existsSync(tgz)) return [`there is no ${tgz}`]
  const manifest = execFileSync('tar', ['-xzOf', tgz, 'package/package.json'])
  const packed = JSON.parse(manifest.toString())
  const said: [string, Partial<Wanted>][] = [['the package', { version: packed.version, commit: packed.built?.commit }]]
  const inBill = (
    JSON.parse(readFileSync(join(dist, 'sbom.json'), 'utf8')).components as { name: string; version: string }[]
  )
    .filter(({ name }) => name === 'node')
    .map((node) => node.version)
  const running: string[] = []
  if (existsSync(join(dist, HERE))) {
    const { node, ...program } = JSON.parse(
      execFileSync(resolve(dist, HERE), ['version', '--json'], { encoding: 'utf8' }),
    )
    said.push([HERE, program])
    running.push(node)
  }
  return [
    ...said
      .filter(([, { version: one, commit: of }]) => one !== version || of !== commit)
      .map(([name, { version: one, commit: of }]) => `${name} is ${one} of commit ${of}, not ${version} of ${commit}`),
    ...(inBill.length < PLATFORMS.length ? [`sbom.json names ${inBill.length} Node, not ${PLATFORMS.length}`] : []),
    ...[...new Set([...inBill, ...running])]
      .filter((node) => !isSafeNode(node))
      .map((node) => `doctor warns of Node ${node}, which is inside`),
  ]
}

/** Compares what the suite ran on with what is to be shipped. `excused` are executables that no machine at hand runs. */
export function untested(
  root: string,
  dist: string,
  { version, commit }: Wanted,
  excused: readonly string[],
): string[] {
  const runHere = excused.filter(
    (name) => name === HERE || !PLATFORMS.some((platform) => name === `teslim-${platform}`),
  )
  const missing = programsOf(version)
    .filter((name) => !excused.includes(name) || runHere.includes(name))
    .flatMap((name) => {
      const tested = readTested(root, name)
      if (tested === undefined) return [`${name}: no run of the whole suite on it is written down`]
      if (tested.commit !== commit) return [`${name} was tested by the tests of ${tested.commit}`]
      if (!existsSync(join(dist, name))) return [`${name} is missing`]
      return tested.sha256 === sha256(readFileSync(join(dist, name))) ? [] : [`${name} was tested with other bytes`]
    })
  return [...runHere.map((name) => `${name} is no executable for another machine: test it here`), ...missing]
}

/** Compares two folders, byte for byte. */
export function differences(dist: string, again: string): string[] {
  const namesIn = (folder: string) => readdirSync(folder).filter((name) => name !== SIGNATURE)
  const isSame = (name: string) =>
    [dist, again].every((folder) => existsSync(join(folder, name))) &&
    readFileSync(join(dist, name)).equals(readFileSync(join(again, name)))
  const names = new Set([...namesIn(dist), ...namesIn(again)])
  return [...names].filter((name) => !isSame(name)).map((name) => `${name} differs in a second build`)
}

/** Verifies the signature, if there is one already: `ssh-keygen -Y sign` replaces none that is there. */
export function wrongSignature(dist: string, signers: string): string[] {
  const signature = join(dist, SIGNATURE)
  if (!existsSync(signature)) return []
  const by = ['-Y', 'verify', '-f', signers, '-I', 'releases@teslim', '-n', 'file', '-s', signature]
  const { status, stdout, stderr, error } = spawnSync('ssh-keygen', by, {
    input: readFileSync(join(dist, SUMS)),
    encoding: 'utf8',
  })
  if (error) throw error
  return status === 0 ? [] : [`${signature} is not one of ${SUMS}, remove it: ${(stderr || stdout).trim()}`]
}
