import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { emptyOut } from '../../tools/build/out-folder.ts'
import { tempFolder } from '../support/temp-folder.ts'

const MADE = [
  'teslim-2.0.0.tgz',
  'teslim-linux-x64',
  'LICENSES.txt',
  'sbom.json',
  'SHA256SUMS',
  'program/main.js',
  'bin/teslim.js',
]

/** A folder with these files. */
function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = tempFolder()
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  return folder
}

describe('npm run build', () => {
  it.each<[string, Readonly<Record<string, string>>]>([
    ['an empty folder', {}],
    ['an older build', { SHA256SUMS: 'ab  teslim-1.0.0.tgz\n', 'teslim-1.0.0.tgz': '', 'LICENSES.txt': '' }],
    ['an older container', { 'program/main.js': '', 'program/old.js': '', 'bin/teslim.js': '' }],
  ])('replaces %s', (_, files) => {
    const out = folderOf(files)
    emptyOut(out, MADE)
    expect(readdirSync(out)).toEqual([])
  })

  it.each<[string, Readonly<Record<string, string>>]>([
    ['other downloads, with their checksums', { SHA256SUMS: 'ab  node.tar.gz\n', 'node.tar.gz': '' }],
    [
      'a build, beside which other files lie',
      { SHA256SUMS: 'ab  teslim-1.0.0.tgz\n', 'teslim-1.0.0.tgz': '', notes: '' },
    ],
    ['an unpacked package that was started, with its store', { 'program/main.js': '', 'data/teslim.db': '' }],
    ['programs of others', { 'bin/teslim.js': '' }],
  ])('leaves %s alone', (_, files) => {
    const out = folderOf(files)
    const before = readdirSync(out, { recursive: true })
    expect(() => emptyOut(out, MADE)).toThrow(`${out} has files that no build made: name an empty folder`)
    expect(readdirSync(out, { recursive: true })).toEqual(before)
  })
})
