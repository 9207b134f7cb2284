import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { inOrder } from '../../tools/build/files.ts'
import { fetch } from '../support/checked-fetch.ts'
import { serve, teslim } from '../support/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { tryOut } from './smoke.ts'

const ROOT = resolve(import.meta.dirname, '../..')
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

/** Builds into a new folder and returns it. */
function build(): string {
  const out = join(tempFolder(), 'dist')
  execFileSync(process.execPath, ['tools/build/main.ts', '--out', out], { cwd: ROOT })
  return out
}

const filesIn = (folder: string): Record<string, Buffer> =>
  Object.fromEntries(inOrder(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))])))
const sizeOf = (folder: string, pattern = '**'): number =>
  globSync(pattern, { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)

/** Unpacks a package, beside what npm would install with it. */
function unpack(tgz: string): string {
  const folder = tempFolder()
  execFileSync('tar', ['-xzf', tgz, '-C', folder])
  const modules = join(folder, 'package/node_modules/@node-rs')
  mkdirSync(modules, { recursive: true })
  for (const name of globSync('argon2*', { cwd: join(ROOT, 'node_modules/@node-rs') }))
    cpSync(join(ROOT, 'node_modules/@node-rs', name), join(modules, name), { recursive: true })
  return join(folder, 'package')
}

const dist = build()
const unpacked = unpack(join(dist, TGZ))
const program = join(unpacked, 'bin/teslim.js')
const inPackage = (path: string): string => readFileSync(join(unpacked, path), 'utf8')

describe('npm run build', () => {
  it('makes the same bytes each time, and their checksums', () => {
    const [first, second] = [filesIn(dist), filesIn(build())]
    expect(Object.keys(first)).toEqual(['LICENSES.txt', 'SHA256SUMS', 'sbom.json', TGZ])
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
      expect.arrayContaining(['@node-rs/argon2', '@opentelemetry/sdk-trace', 'fastify', 'htm', 'jose', 'pg', 'preact']),
    )
    const whole = {
      version: expect.any(String),
      purl: expect.any(String),
      licenses: [{ license: { id: expect.any(String) } }],
    }
    for (const each of components) {
      expect(each).toMatchObject({
        ...whole,
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
    expect(inside.filter((each: string) => !production.includes(each))).toEqual([])
    const texts = readFileSync(join(dist, 'LICENSES.txt'), 'utf8')
      .split(/^-{72}$/m)
      .slice(1)
    expect(texts).toHaveLength(names.length)
    expect(
      texts.filter((text) => !/copyright|mit-license\.org/i.test(text)).map((text) => text.trim().split('\n')[0]),
    ).toEqual([])
    expect(inPackage('LICENSES.txt')).toBe(readFileSync(join(dist, 'LICENSES.txt'), 'utf8'))
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
  })

  it('says that it is a package, and of which commit', async () => {
    const { stdout } = await teslim(['version', '--json'], { cwd: tempFolder(), program })
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim()
    expect(JSON.parse(stdout)).toEqual({
      version,
      node: process.versions.node,
      commit: expect.stringMatching(`^${commit}(-dirty)?$`),
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

  it('names lines of the source in stack traces', async () => {
    const broken = unpack(join(dist, TGZ))
    rmSync(join(broken, 'docs/suppliers.md'))
    writeFileSync(join(broken, 'program/login/hash-worker.js'), 'throw new Error("broken")')
    const server = await serve({ cwd: tempFolder(), program: join(broken, 'bin/teslim.js') })
    expect((await fetch(`${server.url}/docs/suppliers.md`)).status).toBe(500)
    const [, line = ''] = await server.printed(/at readProgramFile \(src\/lib\/program-files\.ts:(\d+):\d+\)/)
    const source = readFileSync(join(ROOT, 'src/lib/program-files.ts'), 'utf8').split('\n')
    expect(source[Number(line) - 1]).toContain('readFileSync(file')
    expect(server.output()).toMatch(/\(node_modules\/fastify\/lib\/[\w-]+\.js:\d+:\d+\)/)
  })
})
