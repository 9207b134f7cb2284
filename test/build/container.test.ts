import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { filesOf } from '../support/processes/container.ts'
import { teslim } from '../support/processes/process.ts'
import { build, tryOut } from './smoke.ts'

const MAX_BYTES = 9_000_000
const NOBODY = { uid: 65534, gid: 65534 }

const staged = build('--container')
const program = join(staged, 'bin/teslim.js')
// Nobody can change it, and everybody can read it.
chmodSync(dirname(staged), 0o755)
execFileSync('chmod', ['-R', 'a-w', staged])
const isReachable = spawnSync(process.execPath, [program, 'version'], { cwd: staged, ...NOBODY }).status === 0
if (!isReachable) console.info('not as another user: this run is not root, or only root can reach its Node')
const options = isReachable ? { program, identity: NOBODY } : { program }

it('what goes into the container is small, the package and argon2 for one platform, and the same each time', () => {
  const files = [...filesOf(staged)]
  const bytes = files.reduce((sum, [, { size }]) => sum + size, 0)
  console.info(`what goes into the container: ${(bytes / 1e6).toFixed(1)} MB in ${files.length} files`)
  expect(bytes).toBeLessThan(MAX_BYTES)
  const packages = globSync('node_modules/**/package.json', { cwd: staged }).map((path) => dirname(path))
  const argon2 = 'node_modules/@node-rs/argon2'
  expect(packages.toSorted()).toEqual([argon2, `${argon2}-${process.platform}-${process.arch}-gnu`])
  const { stdout } = spawnSync('diff', ['-r', staged, build('--container')], { encoding: 'utf8' })
  expect(stdout).toBe('')
})

it('what goes into the container says so', async () => {
  const { stdout } = await teslim(['version', '--json'], { cwd: staged, ...options })
  expect(JSON.parse(stdout)).toMatchObject({ form: 'container', commit: expect.any(String) })
})

it('what goes into the container serves from an empty folder, read-only and as another user, and every part of it works', async () => {
  const before = filesOf(staged)
  await tryOut(options)
  expect(filesOf(staged)).toEqual(before)
})
