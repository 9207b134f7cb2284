import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { inOrder, jsonOf, ROOT, textOf } from './files.ts'

/** What of somebody else is inside of what is shipped. */
export interface Part {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly purl: string
  /** SHA-512 of what the registry of npm has, or of the program that Node is. */
  readonly digest: string
  /** The texts that its licence wants to be shipped with it. */
  readonly texts: readonly string[]
}

const FOLDER = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/
const TEXTS = '{LICEN[CS]E,licen[cs]e,COPYING,NOTICE}*'
const LICENCE_IN_README = /^#+ licen[cs]e\n(.*)/ims

/** Returns the packages that files belong to, by name. */
export function partsOf(files: Iterable<string>): Part[] {
  const folders = new Set(Array.from(files, (file) => FOLDER.exec(file)?.[0]))
  const locked = jsonOf('package-lock.json').packages
  const parts = [...folders].flatMap((folder): [string, Part][] => {
    if (folder === undefined) return []
    const { name, version, license } = jsonOf(`${folder}/package.json`)
    const texts = licenceTexts(folder)
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
    const digest = Buffer.from(locked[folder].integrity.replace('sha512-', ''), 'base64').toString('hex')
    return [[purl, { name, version, license, purl, digest, texts }]]
  })
  return inOrder(parts).map(([, part]) => part)
}

function licenceTexts(folder: string): string[] {
  const read = (pattern: string) =>
    globSync(pattern, { cwd: join(ROOT, folder) })
      .sort()
      .map((file) => textOf(`${folder}/${file}`))
  const texts = read(TEXTS)
  // Some packages have it there only.
  return texts.length > 0
    ? texts
    : read('[Rr][Ee][Aa][Dd][Mm][Ee].md').map((text) => LICENCE_IN_README.exec(text)?.[1] ?? '')
}

/** Returns Node as a part of an executable, by the path of its program. */
export function partOfNode(version: string, platform: string, program: string): Part {
  const digest = createHash('sha512').update(readFileSync(program)).digest('hex')
  const purl = `pkg:generic/node@${version}?platform=${platform}`
  const texts = [readFileSync(join(dirname(program), '../LICENSE'), 'utf8')]
  return { name: 'node', version, license: 'MIT', purl, digest, texts }
}

/** Returns what has to be shipped with the parts: their names and the texts of their licences. */
export function licencesOf(parts: readonly Part[]): string {
  const rule = '-'.repeat(72)
  // Node is the same for all platforms.
  const sections = new Set(
    parts.map(({ name, version, license, texts }) =>
      [rule, `${name} ${version} (${license})`, ...texts.map((text) => `\n${text.trim()}`)].join('\n'),
    ),
  )
  return `teslim contains these packages.\n\n${[...sections].join('\n\n')}\n`
}

/** Returns a bill of materials in the CycloneDX format. */
export function billOf(version: string, parts: readonly Part[]): string {
  const components = parts.map(({ name, version, license, purl, digest }) => ({
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    purl,
    licenses: [{ license: { id: license } }],
    hashes: [{ alg: 'SHA-512', content: digest }],
  }))
  const root = `pkg:npm/teslim@${version}`
  const component = {
    type: 'application',
    'bom-ref': root,
    name: 'teslim',
    version,
    purl: root,
    licenses: [{ license: { id: 'MIT' } }],
  }
  const dependencies = [{ ref: root, dependsOn: components.map(({ purl }) => purl) }]
  return `${JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, metadata: { component }, components, dependencies }, null, 2)}\n`
}
