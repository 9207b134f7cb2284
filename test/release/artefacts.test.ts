import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import {
  artefactsOf,
  differences,
  programsOf,
  untested,
  wrongFiles,
  wrongInside,
} from '../../tools/release/artefacts.ts'
import { sha256, type Tested, writeTested } from '../../tools/release/tested.ts'
import { tempFolder } from '../support/temp-folder.ts'

const WANTED = { version: '1.0.0', commit: 'c'.repeat(40) }
const TGZ = 'teslim-1.0.0.tgz'
const HERE = `teslim-${process.platform}-${process.arch}`
const ELSEWHERE = HERE === 'teslim-linux-x64' ? 'teslim-linux-arm64' : 'teslim-linux-x64'
const SAFE = '26.13.0'

/** Writes checksums as a build does. */
function sumUp(dist: string): void {
  const names = readdirSync(dist).filter((name) => name !== 'SHA256SUMS')
  const lines = names.map((name) => `${sha256(readFileSync(join(dist, name)))}  ${name}\n`)
  writeFileSync(join(dist, 'SHA256SUMS'), lines.join(''))
}

/** What a build leaves, with programs that only say what they are. */
function distOf({ version = '1.0.0', commit = WANTED.commit, node = SAFE, nodes = [SAFE, SAFE] } = {}): string {
  const dist = tempFolder()
  const folder = tempFolder()
  mkdirSync(join(folder, 'package'))
  writeFileSync(join(folder, 'package/package.json'), JSON.stringify({ version, built: { commit } }))
  execFileSync('tar', ['-czf', join(dist, TGZ), '-C', folder, 'package'])
  for (const name of [HERE, ELSEWHERE]) {
    const script = `#!/bin/sh\necho '${JSON.stringify({ version, commit, node, form: 'executable' })}'\n`
    writeFileSync(join(dist, name), script, { mode: 0o755 })
  }
  writeFileSync(join(dist, 'LICENSES.txt'), 'MIT')
  const components = nodes.map((each) => ({ name: 'node', version: each }))
  writeFileSync(
    join(dist, 'sbom.json'),
    JSON.stringify({ components: [{ name: 'pg', version: '8.0.0' }, ...components] }),
  )
  sumUp(dist)
  return dist
}

describe('the files of a release', () => {
  it('are complete, and may be signed already', () => {
    const dist = distOf()
    writeFileSync(join(dist, 'SHA256SUMS.sig'), '')
    expect(wrongFiles(dist, '1.0.0')).toEqual([])
    expect(artefactsOf('1.0.0')).toHaveLength(5)
  })

  it('are refused if one is changed, missing, not summed up, or no part of it', () => {
    const dist = distOf()
    appendFileSync(join(dist, HERE), '#')
    rmSync(join(dist, 'LICENSES.txt'))
    writeFileSync(join(dist, 'notes.txt'), '')
    expect(wrongFiles(dist, '1.0.0')).toEqual([
      'LICENSES.txt is missing',
      `${HERE} has another checksum than in SHA256SUMS`,
      'notes.txt is no part of a release of 1.0.0',
    ])
    writeFileSync(join(dist, 'SHA256SUMS'), '')
    expect(wrongFiles(dist, '1.0.0')).toContain(`${TGZ} has another checksum than in SHA256SUMS`)
    rmSync(join(dist, 'SHA256SUMS'))
    expect(wrongFiles(dist, '1.0.0')).toEqual([expect.stringMatching(/^there is no .*SHA256SUMS: run npm run build/)])
  })

  it('are refused if they are those of another version', () => {
    expect(wrongFiles(distOf(), '1.0.1')).toEqual([
      'teslim-1.0.1.tgz is missing',
      `${TGZ} is no part of a release of 1.0.1`,
    ])
  })
})

describe('what is inside', () => {
  it('is of this commit and version', () => {
    expect(wrongInside(distOf(), WANTED)).toEqual([])
  })

  it.each([`${WANTED.commit}-dirty`, 'd'.repeat(40)])('is refused if it is of commit %s', (commit) => {
    expect(wrongInside(distOf({ commit }), WANTED)).toEqual(
      ['the package', HERE].map((name) => `${name} is 1.0.0 of commit ${commit}, not 1.0.0 of ${WANTED.commit}`),
    )
  })

  it('is refused if it says another version', () => {
    expect(wrongInside(distOf({ version: '1.0.1' }), WANTED)).toEqual(
      ['the package', HERE].map((name) => expect.stringContaining(`${name} is 1.0.1 of commit`)),
    )
  })

  it('is refused if doctor warns of a Node, in the executable of this machine or of another', () => {
    const problem = 'doctor warns of Node 26.12.9, which is inside'
    expect(wrongInside(distOf({ node: '26.12.9' }), WANTED)).toEqual([problem])
    expect(wrongInside(distOf({ nodes: [SAFE, '26.12.9'] }), WANTED)).toEqual([problem])
  })

  it('is refused if the bill of materials does not say which Node', () => {
    expect(wrongInside(distOf({ nodes: [] }), WANTED)).toEqual(['sbom.json names 0 Node, not 2'])
  })
})

describe('the suite', () => {
  /** Writes down a run on each program. */
  function tested(dist: string, more: Partial<Tested> = {}, names = programsOf('1.0.0')): string {
    const root = tempFolder()
    for (const artefact of names) {
      const bytes = readFileSync(join(dist, artefact))
      const { commit } = WANTED
      const record = { artefact, sha256: sha256(bytes), commit, platform: 'linux-x64', at: '', passed: 1, skipped: [] }
      writeTested(root, { ...record, ...more })
    }
    return root
  }

  it('passed if a run on each program is written down', () => {
    const dist = distOf()
    expect(untested(tested(dist), dist, WANTED, [])).toEqual([])
  })

  it('has not passed if no run is written down, or one on other bytes, or by other tests', () => {
    const dist = distOf()
    expect(untested(tempFolder(), dist, WANTED, [])).toEqual(
      programsOf('1.0.0').map((name) => `${name}: no run of the whole suite on it is written down`),
    )
    const root = tested(dist)
    appendFileSync(join(dist, HERE), '#')
    sumUp(dist)
    expect(untested(root, dist, WANTED, [])).toEqual([`${HERE} was tested with other bytes`])
    for (const commit of [`${WANTED.commit}-dirty`, null])
      expect(untested(tested(dist, { commit }), dist, WANTED, [])).toEqual(
        programsOf('1.0.0').map((name) => `${name} was tested by the tests of ${commit}`),
      )
  })

  it('may be missing for an executable of another machine, if that is said, and for nothing else', () => {
    const dist = distOf()
    const root = tested(dist, {}, [TGZ, HERE])
    const missing = `${ELSEWHERE}: no run of the whole suite on it is written down`
    expect(untested(root, dist, WANTED, [])).toEqual([missing])
    expect(untested(root, dist, WANTED, [ELSEWHERE])).toEqual([])
    expect(untested(root, dist, WANTED, [HERE, TGZ])).toEqual([
      ...[HERE, TGZ].map((name) => `${name} is no executable for another machine: test it here`),
      missing,
    ])
  })
})

it('a second build that differs in a byte, or in a file, is found', () => {
  const dist = distOf()
  const again = tempFolder()
  cpSync(dist, again, { recursive: true })
  writeFileSync(join(dist, 'SHA256SUMS.sig'), '')
  expect(differences(dist, again)).toEqual([])
  appendFileSync(join(again, TGZ), ' ')
  rmSync(join(again, 'LICENSES.txt'))
  writeFileSync(join(again, 'more'), '')
  expect(differences(dist, again)).toEqual(
    ['LICENSES.txt', TGZ, 'more'].map((name) => `${name} differs in a second build`),
  )
})

it('this run knows which file to be shipped its tests start', () => {
  const { TESLIM_UNDER_TEST: named } = process.env
  const artefact = inject('artefact')
  const isScript = named === 'checkout' || named?.endsWith('.js')
  if (isScript) return expect(artefact).toBeUndefined()
  const name = named === undefined ? expect.stringMatching(/^teslim-.*\.tgz$/) : basename(named)
  expect(artefact).toMatchObject({ name, sha256: expect.stringMatching(/^[\da-f]{64}$/) })
})
