import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import * as library from '@node-rs/argon2'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isSafeNode } from '#src/doctor/checks.ts'
import * as ofNode from '../../tools/build/executable/argon2-of-node.ts'
import { inOrder } from '../../tools/build/files.ts'
import { fetch } from '../support/app/checked-fetch.ts'
import { unpack } from '../support/processes/package.ts'
import { CHECKOUT, serveSandbox, teslim } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { build, ROOT, tryOut } from './smoke.ts'

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const TGZ = `teslim-${version}.tgz`

interface Locked {
  readonly version?: string
  readonly integrity?: string
  readonly dev?: boolean
  readonly devOptional?: boolean
}

interface Component {
  readonly name: string
  readonly version: string
  readonly hashes: readonly { readonly content: string }[]
}

const filesIn = (folder: string): Record<string, Buffer> =>
  Object.fromEntries(inOrder(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))])))
const sizeOf = (folder: string, pattern = '**'): number =>
  globSync(pattern, { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)

const dist = build()
const HERE = `teslim-${process.platform}-${process.arch}`
/** Of the platforms whose Node npm has installed: on Linux, this one. */
const executables = readdirSync(dist).filter((name) => name.startsWith('teslim-linux-'))
const executable = executables.includes(HERE) ? join(dist, HERE) : undefined
if (executable === undefined) console.info(`no executable is tested: there is none for ${HERE}`)
const program = unpack(dist, tempFolder())
const unpacked = join(program, '../..')
const inPackage = (path: string): string => readFileSync(join(unpacked, path), 'utf8')

describe('npm run build', () => {
  it('makes a release only with a Node that lacks no security fixes, and the same bytes each time, with their checksums', () => {
    const out = tempFolder()
    const command = ['tools/build/main.ts', '--release', '--out', out]
    const { status, stderr } = spawnSync(process.execPath, command, { cwd: ROOT, encoding: 'utf8' })
    const { node } = process.versions
    const isReleased = status === 0
    expect(isReleased).toBe(isSafeNode(node) || executables.length === 0)
    if (!isReleased) {
      expect(stderr).toContain(
        `a release cannot have Node ${node}, which lacks security fixes: name a newer one by --node DIR`,
      )
      expect(readdirSync(out)).toEqual([])
    }
    const [first, second] = [filesIn(dist), filesIn(isReleased ? out : build())]
    expect(Object.keys(first)).toEqual(['LICENSES.txt', 'SHA256SUMS', 'sbom.json', TGZ, ...executables])
    const different = Object.keys({ ...first, ...second }).filter(
      (name) => !second[name]?.equals(first[name] ?? Buffer.of()),
    )
    expect(different).toEqual([])
    const sums = Object.entries(first).filter(([name]) => name !== 'SHA256SUMS')
    const lines = sums.map(([name, bytes]) => `${createHash('sha256').update(bytes).digest('hex')}  ${name}\n`)
    expect(String(first.SHA256SUMS)).toBe(lines.join(''))
  })

  it('lists the packages that are inside, each with version, hash and licence, and with the text of its licence', () => {
    const { components } = JSON.parse(readFileSync(join(dist, 'sbom.json'), 'utf8'))
    const names = components.map(({ name }: Component) => name)
    expect(names).toEqual(
      expect.arrayContaining(['@node-rs/argon2', '@opentelemetry/sdk-trace', 'fastify', 'jose', 'pg', 'preact']),
    )
    for (const each of components) {
      expect(each).toMatchObject({
        version: expect.any(String),
        purl: expect.any(String),
        licenses: [{ license: { id: expect.any(String) } }],
        hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[\da-f]{128}$/) }],
      })
    }
    const locked = Object.entries<Locked>(JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages)
    const production = locked
      .filter(([, { dev, devOptional }]) => !dev && !devOptional)
      .map(([path, { version, integrity }]) => `${path.split('node_modules/').at(-1)}@${version} ${integrity}`)
    const inside = components.map(({ name, version, hashes }: Component) => {
      return `${name}@${version} sha512-${Buffer.from(hashes[0]?.content ?? '', 'hex').toString('base64')}`
    })
    const others = inside.filter((each: string) => !production.includes(each))
    expect(others.map((each: string) => each.split(' ')[0])).toEqual(
      executables.map(() => `node@${process.versions.node}`),
    )
    const texts = readFileSync(join(dist, 'LICENSES.txt'), 'utf8')
      .split(/^-{72}$/m)
      .slice(1)
    expect(texts).toHaveLength(new Set(components.map(({ name, version }: Component) => `${name}@${version}`)).size)
    expect(
      texts.filter((text) => !/copyright|mit-license\.org/i.test(text)).map((text) => text.trim().split('\n')[0]),
    ).toEqual([])
    const [inTgz, beside] = [inPackage('LICENSES.txt'), readFileSync(join(dist, 'LICENSES.txt'), 'utf8')]
    expect(beside.startsWith(inTgz.trimEnd())).toBe(true)
  })
})

describe('a checkout', () => {
  it('serves from an empty folder, and every part of it works', () => tryOut({ program: CHECKOUT }))

  it('prints commands for npx', async () => {
    const { server } = await serveSandbox({ cwd: tempFolder(), program: CHECKOUT })
    await server.printed(/^ {2}npx teslim order list$/m)
  })
})

describe('the npm package', () => {
  it('is small, and installs one package and nothing of development', () => {
    const sizes = {
      packed: statSync(join(dist, TGZ)).size,
      unpacked: sizeOf(unpacked) - sizeOf(join(unpacked, 'node_modules')),
      maps: sizeOf(unpacked, '**/*.map'),
      installed: sizeOf(unpacked),
    }
    console.info(`sizes of the package in bytes: ${JSON.stringify(sizes)}`)
    expect(sizes.packed).toBeLessThan(2e6)
    expect(sizes.unpacked).toBeLessThan(7e6)
    expect(sizes.maps).toBeLessThan(2.5e6)
    expect(sizes.installed).toBeLessThan(10e6)
    const manifest = JSON.parse(inPackage('package.json'))
    expect(manifest.version).toBe(version)
    expect(Object.keys(manifest.dependencies)).toEqual(['@node-rs/argon2'])
    expect(['scripts', 'devDependencies', 'private'].filter((name) => name in manifest)).toEqual([])
    expect(globSync('**/*.{ts,tsx}', { cwd: unpacked, exclude: ['node_modules'] })).toEqual([])
    const migrations = globSync('src/store/*/migrations/*.sql', { cwd: ROOT }).map((path) =>
      path.replace('src', 'program'),
    )
    expect(globSync('**/*.sql', { cwd: unpacked }).toSorted()).toEqual(migrations.toSorted())
  })

  it('says that it is a package, and of which commit', async () => {
    const { stdout } = await teslim(['version', '--json'], { cwd: tempFolder(), program })
    const git = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' })
    expect(JSON.parse(stdout)).toEqual({
      version,
      node: process.versions.node,
      commit: git.status === 0 ? expect.stringMatching(`^${git.stdout.trim()}(-dirty)?$`) : null,
      form: 'package',
    })
  })

  it('installs as a program with nothing but Node and npm', ({ skip }) => {
    const prefix = tempFolder()
    const install = [
      'install',
      '--global',
      '--prefix',
      prefix,
      '--prefer-offline',
      '--fetch-retries=1',
      join(dist, TGZ),
    ]
    const { status, stderr } = spawnSync('npm', install, { cwd: prefix, encoding: 'utf8' })
    if (status !== 0 && /ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|network/i.test(stderr)) {
      console.info(`the package is not installed: npm cannot reach its registry: ${stderr}`)
      skip('npm cannot reach its registry')
    }
    expect([status, stderr]).toEqual([0, ''])
    const PATH = [join(prefix, 'bin'), dirname(process.execPath)].join(delimiter)
    expect(execFileSync('teslim', ['version'], { env: { PATH }, encoding: 'utf8' })).toBe(`teslim ${version}\n`)
    expect(sizeOf(prefix)).toBeLessThan(10e6)
  })

  it('serves from an empty folder, and every part of it works', () => tryOut({ program }))

  it('names lines of the source in stack traces', () => namesLines(program))

  it('reads no source map unless a stack trace is printed', async () => {
    const cwd = tempFolder()
    const spy = `const fs = require('node:fs')
      const { readFileSync } = fs
      fs.readFileSync = (...args) => {
        if (/\\.map$/.test(String(args[0]))) console.error('a map is read')
        return readFileSync(...args)
      }
      require('node:module').syncBuiltinESMExports()`
    writeFileSync(join(cwd, 'spy.cjs'), spy)
    const node = ['--require', join(cwd, 'spy.cjs')]
    const { server, email, password } = await serveSandbox({ cwd, program, node })
    const body = JSON.stringify({ Email: email, Password: password })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${server.url}/Login/Customer/Api/Verify`, { method: 'POST', headers, body })
    expect(answer.status).toBe(200)
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
    expect(server.output()).not.toContain('a map is read')
  })
})

describe.runIf(executable)('the executable', () => {
  it('says that it is one, and of which commit', async () => {
    const { stdout } = await teslim(['version', '--json'], { cwd: tempFolder(), program: executable })
    expect(JSON.parse(stdout)).toMatchObject({ version, node: process.versions.node, form: 'executable' })
    const safe = isSafeNode(process.versions.node)
    const text = await teslim(['version'], { cwd: tempFolder(), program: executable })
    expect(/for trying/.test(text.stdout)).toBe(!safe)
    const doctor = await teslim(['doctor'], { cwd: tempFolder(), program: executable })
    expect(doctor.stdout).toContain('a single executable')
    expect(/an executable that/.test(doctor.stdout)).toBe(!safe)
  })

  it('needs nothing else: it serves from an empty folder, and every part of it works', async () => {
    const TMPDIR = tempFolder()
    await tryOut({ program: executable, env: { TMPDIR } })
    // The library of argon2 was unpacked there.
    expect(readdirSync(TMPDIR)).toEqual([])
  })

  it('prints commands that run it', async () => {
    const cwd = tempFolder()
    const { server } = await serveSandbox({ cwd, program: executable })
    const [, command = ''] = await server.printed(/^ {2}(\S+ order list)$/m)
    expect(execFileSync('sh', ['-c', command], { cwd, env: { PATH: process.env.PATH }, encoding: 'utf8' })).toContain(
      'order',
    )
  })

  it('names lines of the source in stack traces', () => namesLines(executable ?? ''))

  const inShell = (script: string): string[] => ['sh', '-c', `${script} && exec "$@"`, 'sh']
  /** The checkout itself may lie below one of them. */
  const allow = `mount --bind ${ROOT} ${ROOT} && mount -o remount,bind,exec ${ROOT}`
  const forbid = (path: string): string => `mount --bind ${path} ${path} && mount -o remount,bind,noexec ${path}`
  const alone = [
    'unshare',
    '--mount',
    ...inShell([...['/tmp', '/var/tmp', '/dev/shm'].map(forbid), allow].join(' && ')),
  ]

  it.each([
    ['nothing that is written may be run', alone],
    // In blocks of 512 bytes: smaller than the library, larger than the store.
    ['the library cannot be written', inShell('ulimit -f 1300')],
  ])('hashes passwords by Node itself where %s, and says so once', async (_, through) => {
    if (spawnSync(through[0] ?? '', [...through.slice(1), 'true']).status !== 0) {
      return console.info(`skipped, this machine does not allow it: ${through.join(' ')}`)
    }
    // Programs in temporary folders may be among those that cannot be run.
    const folder = mkdtempSync(join(ROOT, 'node_modules/.cache/executable-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const copy = join(folder, HERE)
    cpSync(executable ?? '', copy)
    const { server, email, password } = await serveSandbox({ cwd: tempFolder(), program: copy, through })
    expect(server.output().match(/passwords are hashed by Node itself/g)).toHaveLength(1)
    const headers = { 'content-type': 'application/json' }
    const login = (Password: string) =>
      fetch(`${server.url}/Login/Customer/Api/Verify`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ Email: email, Password }),
      })
    expect((await login(password)).status).toBe(200)
    expect((await login(`${password}x`)).status).toBe(400)
  })
})

it.each([
  ['argon2id', 2],
  ['argon2i', 1],
])('hashes of %s by Node itself and by the library verify each other', async (_, algorithm) => {
  const parameters = { algorithm, memoryCost: 1024, timeCost: 2, parallelism: 1 }
  for (const [one, other] of [
    [library, ofNode],
    [ofNode, library],
  ] as const) {
    for (const made of [one.hashSync('pässword', parameters), await one.hash('pässword', parameters)]) {
      expect([other.verifySync(made, 'pässword'), await other.verify(made, 'pässword')]).toEqual([true, true])
      expect([other.verifySync(made, 'password'), await other.verify(made, 'password')]).toEqual([false, false])
      expect(other.parseOptions(made)).toMatchObject(parameters)
    }
  }
})

/** A command that cannot print tells where that was. */
async function namesLines(under: string): Promise<void> {
  const cwd = tempFolder()
  writeFileSync(join(cwd, 'mute.cjs'), `process.stdout.write = () => { throw new Error('mute') }`)
  const env = { NODE_OPTIONS: `--require ${join(cwd, 'mute.cjs')}` }
  const { status, stderr } = await teslim(['version'], { cwd, env, program: under })
  expect(status).toBe(1)
  const [, file = '', line] = /at out \((src\/[\w/-]+\.ts):(\d+):\d+\)/.exec(stderr) ?? []
  expect(readFileSync(join(ROOT, file), 'utf8').split('\n')[Number(line) - 1]).toContain('process.stdout.write')
}
