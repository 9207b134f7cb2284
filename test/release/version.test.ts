import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { namedVersions, otherVersions, setVersion, versionOf } from '../../tools/version.ts'
import { tempFolder } from '../support/temp-folder.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** A copy of every file that names the version, and of the changelog. */
function copyOfPlaces(): string {
  const folder = tempFolder()
  for (const file of new Set(['CHANGELOG.md', ...namedVersions(ROOT).map((named) => named.file)])) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(ROOT, file), join(folder, file))
  }
  return folder
}

const filesOf = (root: string): string[] => [...new Set(namedVersions(root).map(({ file }) => file))]

it('every place names the version of package.json', () => {
  expect(otherVersions(ROOT)).toEqual([])
  expect(filesOf(ROOT)).toEqual(
    expect.arrayContaining([
      'Dockerfile',
      'README.md',
      'deploy/README.md',
      'deploy/compose.yaml',
      'deploy/kubernetes/kustomization.yaml',
      'deploy/kubernetes/sqlite-restore.example.yaml',
      'deploy/kubernetes/sqlite.yaml',
      'deploy/systemd/README.md',
      'openapi.yaml',
      'package-lock.json',
      'package.json',
    ]),
  )
})

it.each(['2.13.7', '2.0.0-rc.1'])('npm run version -- %s changes every place, and nothing else', (version) => {
  const root = copyOfPlaces()
  const places = namedVersions(root)
  const before = versionOf(root)
  const read = (file: string): string => readFileSync(join(root, file), 'utf8')
  const texts = new Map(filesOf(root).map((file) => [file, read(file)]))
  expect(setVersion(root, version).filter((file) => file !== 'CHANGELOG.md')).toEqual(filesOf(root))
  expect(versionOf(root)).toBe(version)
  expect(otherVersions(root)).toEqual([])
  expect(namedVersions(root)).toEqual(places.map((place) => ({ ...place, version })))
  for (const [file, text] of texts) {
    const count = places.filter((place) => place.file === file).length
    expect(read(file).length - text.length).toBe(count * (version.length - before.length))
  }
  expect(setVersion(root, version)).toEqual([])
})

it('a place that another hand changed is found, and so is one that was forgotten', () => {
  const root = copyOfPlaces()
  const change = (file: string, from: RegExp, to: string) =>
    writeFileSync(join(root, file), readFileSync(join(root, file), 'utf8').replace(from, to))
  change('README.md', /teslim-[\d.]+\.tgz/, 'teslim-9.9.9.tgz')
  change('deploy/kubernetes/kustomization.yaml', /newTag: .*/, 'newTag: 9.9.8')
  change('package-lock.json', /("name": "teslim",\s+"version": ")[^"]+/, '$19.9.7')
  expect(otherVersions(root).map((problem) => problem.replace(/:\d+/, ''))).toEqual([
    `README.md has 9.9.9, package.json ${versionOf(ROOT)}`,
    `deploy/kubernetes/kustomization.yaml has 9.9.8, package.json ${versionOf(ROOT)}`,
    `package-lock.json has 9.9.7, package.json ${versionOf(ROOT)}`,
  ])
})

it('changes that have no version yet become those of the new one', () => {
  const root = copyOfPlaces()
  writeFileSync(join(root, 'CHANGELOG.md'), '# Changelog\n\n## Unreleased\n\n- new\n\n## 0.0.1\n\n- old\n')
  expect(setVersion(root, '0.0.2')).toContain('CHANGELOG.md')
  expect(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')).toBe(
    '# Changelog\n\n## 0.0.2\n\n- new\n\n## 0.0.1\n\n- old\n',
  )
})

it.each(['1.0', 'v1.0.0', '1.0.0-x', '1.0.0\n', ''])('%j is no version, and changes nothing', (version) => {
  const root = copyOfPlaces()
  expect(() => setVersion(root, version)).toThrow('a version is 1.0.1 or 1.0.1-rc.1')
  expect(namedVersions(root)).toEqual(namedVersions(ROOT))
})

it('npm run version without a version says whether all agree, and changes nothing', () => {
  const printed = execFileSync(process.execPath, ['tools/version.ts'], { cwd: ROOT, encoding: 'utf8' })
  expect(printed).toBe(`every place names ${versionOf(ROOT)}\n`)
})
