import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { wrongSignature } from '../../tools/release/artefacts.ts'
import { sha256 } from '../../tools/release/tested.ts'
import { SIGNERS } from '../../tools/release/tree.ts'
import { tempFolder } from '../support/temp-folder.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const command = (page: string, name: string): string =>
  new RegExp(`^ *(${name} .*)$`, 'm').exec(read(page))?.[1] ?? `${page} has no ${name}`

const SIGN = command('CONTRIBUTING.md', 'ssh-keygen -Y sign')
const VERIFY = command('SECURITY.md', 'ssh-keygen -Y verify')
const COMPARE = command('SECURITY.md', 'sha256sum')

it('who downloads a release can check it with the commands of the pages, and sees what another hand changed', ({
  skip,
}) => {
  if (spawnSync('ssh-keygen', ['-?']).error) {
    console.info('signatures are not tested: there is no ssh-keygen')
    skip('there is no ssh-keygen')
  }
  const folder = tempFolder()
  const run = (line: string) => spawnSync('sh', ['-c', line], { cwd: folder, encoding: 'utf8' })
  const keygen = (name: string) =>
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', join(folder, name)])
  keygen('release')
  keygen('other')
  // The commented line of the file shows how a line is written.
  const example = /^# (releases@teslim .*) ssh-ed25519 AAAA/m.exec(read(SIGNERS))?.[1]
  const key = readFileSync(join(folder, 'release.pub'), 'utf8')
  writeFileSync(join(folder, 'release-signers'), `${read(SIGNERS)}${example} ${key}`)
  writeFileSync(join(folder, 'teslim-linux-x64'), 'program')
  writeFileSync(
    join(folder, 'SHA256SUMS'),
    `${sha256(Buffer.from('program'))}  teslim-linux-x64\n${'0'.repeat(64)}  not-downloaded\n`,
  )
  const sign = (name: string) => run(SIGN.replace('KEY', name).replace('dist/', ''))

  expect(sign('release')).toMatchObject({ status: 0 })
  expect(run(VERIFY)).toMatchObject({ status: 0, stdout: expect.stringContaining('Good "file" signature') })
  expect(run(COMPARE)).toMatchObject({ status: 0, stdout: 'teslim-linux-x64: OK\n' })

  appendFileSync(join(folder, 'teslim-linux-x64'), 'x')
  expect(run(COMPARE).status).toBe(1)
  cpSync(join(folder, 'SHA256SUMS'), join(folder, 'before'))
  appendFileSync(join(folder, 'SHA256SUMS'), `${'0'.repeat(64)}  another\n`)
  expect(run(VERIFY).status).not.toBe(0)
  cpSync(join(folder, 'before'), join(folder, 'SHA256SUMS'))
  expect(run(VERIFY).status).toBe(0)
  expect(wrongSignature(folder, join(folder, 'release-signers'))).toEqual([])
  rmSync(join(folder, 'SHA256SUMS.sig'))
  expect(wrongSignature(folder, join(folder, 'release-signers'))).toEqual([])
  expect(sign('other')).toMatchObject({ status: 0 })
  expect(wrongSignature(folder, join(folder, 'release-signers'))).toEqual([
    expect.stringContaining('SHA256SUMS.sig is not one of SHA256SUMS, remove it'),
  ])
  expect(run(VERIFY).status).not.toBe(0)
})

it('npm run release prints the command to sign that CONTRIBUTING.md has', () => {
  expect(read('tools/release/main.ts').replaceAll(/\$\{at\}/g, 'dist')).toContain(SIGN)
})
