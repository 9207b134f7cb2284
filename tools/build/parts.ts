import { globSync } from 'node:fs'
import { join } from 'node:path'
import { inOrder, jsonOf, ROOT, textOf } from './files.ts'

/** A package of somebody else that is inside of what is shipped. */
export interface Part {
  readonly name: string
  readonly version: string
  readonly license: string
  /** SHA-512 of what the registry has, in Base64. */
  readonly integrity: string
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
    return [[`${name}@${version}`, { name, version, license, integrity: locked[folder].integrity, texts }]]
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

/** Returns what has to be shipped with the parts: their names and the texts of their licences. */
export function licencesOf(parts: readonly Part[]): string {
  const rule = '-'.repeat(72)
  const sections = parts.map(({ name, version, license, texts }) =>
    [rule, `${name} ${version} (${license})`, ...texts.map((text) => `\n${text.trim()}`)].join('\n'),
  )
  return `teslim contains these packages.\n\n${sections.join('\n\n')}\n`
}

/** Returns a bill of materials in the CycloneDX format. */
export function billOf(version: string, parts: readonly Part[]): string {
  const components = parts.map(({ name, version, license, integrity }) => {
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
    return {
      type: 'library',
      'bom-ref': purl,
      name,
      version,
      purl,
      licenses: [{ license: { id: license } }],
      hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex') }],
    }
  })
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
