import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { nativePartOf } from '../../tools/build/executable/executable.ts'
import { fetch } from '../support/app/checked-fetch.ts'
import { serveSandbox, teslim } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { build, ROOT } from './smoke.ts'

const BUILD = ['tools/build/main.ts', '--container', '--out']

/** Copies what a build needs into a folder, as somebody has it who downloaded an archive. */
function copyCheckout(to: string): void {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const production = Object.entries<{ dev?: boolean; devOptional?: boolean }>(packages)
    .filter(([path, { dev, devOptional }]) => path.startsWith('node_modules/') && !dev && !devOptional)
    .map(([path]) => path)
  const files = ['package.json', 'package-lock.json', 'tsconfig.json', 'README.md', 'LICENSE', 'docs', 'bin', 'src']
  for (const path of [...files, 'tools/build', ...production, ...globSync('node_modules/@esbuild/*', { cwd: ROOT })]) {
    if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(to, path), { recursive: true })
  }
}

async function commitOf(out: string): Promise<string | null> {
  const { stdout } = await teslim(['version', '--json'], { cwd: tempFolder(), program: join(out, 'bin/teslim.js') })
  return JSON.parse(stdout).commit
}

it('a build names no commit where git is not installed, but the one it is given', async () => {
  const out = join(tempFolder(), 'dist')
  const options = { cwd: ROOT, env: { PATH: tempFolder() }, encoding: 'utf8' } as const
  expect(execFileSync(process.execPath, [...BUILD, out], options)).toContain('no commit is named')
  expect(await commitOf(out)).toBeNull()
  expect(execFileSync(process.execPath, [...BUILD, out, '--commit', 'abc'], options)).not.toContain('no commit')
  expect(await commitOf(out)).toBe('abc')
})

it('a build names no commit of a repository around its folder, and of a read-only checkout it writes only node_modules/.cache', async () => {
  const around = tempFolder()
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.co', ...args], { cwd: around })
  git('init', '--quiet')
  git('commit', '--quiet', '--allow-empty', '--message', 'around')
  const checkout = join(around, 'teslim')
  copyCheckout(checkout)
  const out = join(tempFolder(), 'dist')
  const command = [process.execPath, ...BUILD, out]
  const cache = join(checkout, 'node_modules/.cache')
  mkdirSync(cache)
  const mounts = `mount --bind ${checkout} ${checkout} && mount -o remount,bind,ro ${checkout} && mount -t tmpfs none ${cache}`
  const through = ['--mount', 'sh', '-c', `${mounts} && cd ${checkout} && exec "$@"`, 'sh']
  const isAllowed = spawnSync('unshare', [...through, 'true']).status === 0
  if (!isAllowed) console.info('the checkout is not read-only: unshare is not installed or not allowed')
  const [first = '', ...rest] = isAllowed ? ['unshare', ...through, ...command] : command
  expect(execFileSync(first, rest, { cwd: checkout, encoding: 'utf8' })).toContain('no commit is named')
  expect(await commitOf(out)).toBeNull()
})

it('an executable for arm64 that is made elsewhere serves, and hashes passwords by the library', async ({ skip }) => {
  const downloads = process.env.TEST_ARM64
  const missing = (reason: string) => {
    console.info(`the executable for arm64 is not run: ${reason}`)
    return skip(reason)
  }
  if (downloads === undefined) return missing('TEST_ARM64 names no folder as `npm run build -- --node` takes it')
  const through = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu']
  const [node = ''] = globSync('node-v*-linux-arm64/bin/node', { cwd: downloads })
  const [emulator = '', ...options] = through
  const { status, error, stderr } = spawnSync(emulator, [...options, join(downloads, node), '--version'])
  if (status !== 0) return missing(`qemu-aarch64 does not run its Node: ${error?.message ?? stderr}`)

  const program = join(build('--node', downloads), 'teslim-linux-arm64')
  chmodSync(program, 0o755)
  const { stdout } = await teslim(['version', '--json'], { cwd: tempFolder(), program, through })
  expect(JSON.parse(stdout)).toMatchObject({ form: 'executable' })
  const { server, email, password, apiKey } = await serveSandbox({ cwd: tempFolder(), program, through })
  const post = async (path: string, body: object, headers = {}) => {
    const answer = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    return answer.status
  }
  expect(await post('/Login/Customer/Api/Verify', { Email: email, Password: password })).toBe(200)
  expect(await post('/Login/Customer/Api/Verify', { Email: email, Password: `${password}x` })).toBe(400)
  expect(await post('/Purchase/update', { OrderID: 'PO-1', Status: 1 }, { ApiKey: apiKey })).toBe(200)
  expect(server.output()).not.toContain('hashed by Node itself')
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
})

it('argon2 for another platform is taken from the package that is locked, and from no other', () => {
  const other = process.arch === 'arm64' ? 'x64' : 'arm64'
  const name = `argon2-linux-${other}-gnu`
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const downloads = tempFolder()
  expect(nativePartOf(`linux-${other}`, downloads)).toBeUndefined()
  writeFileSync(join(downloads, `node-rs-${name}-${packages[`node_modules/@node-rs/${name}`].version}.tgz`), 'another')
  expect(() => nativePartOf(`linux-${other}`, downloads)).toThrow('is not the package that package-lock.json names')
})
