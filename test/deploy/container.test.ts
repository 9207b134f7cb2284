import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, it, type TestContext } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { freePort, newDatabase } from '../support/postgres/postgres-server.ts'
import {
  buildContainer,
  type Container,
  filesOf,
  NoRegistry,
  start,
  startAsFirst,
} from '../support/processes/container.ts'

const MAX_BYTES = 12_000_000
const ARGUMENTS = { REVISION: 'a'.repeat(40), CREATED: '2026-11-26T12:00:00Z' }
const repository = fileURLToPath(new URL('../../', import.meta.url))
const { version, homepage, repository: source } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))

let container: Container | undefined
let unreachable = ''
/** The port of the last server; nothing listens on the first value. */
let port = '1'

beforeAll(() => {
  try {
    container = buildContainer(repository, ARGUMENTS)
    console.info(['not done without an engine:', ...container.skipped].join('\n  '))
  } catch (error) {
    if (!(error instanceof NoRegistry)) throw error
    unreachable = `npm cannot reach its registry: ${error.message}`
    console.info(`the container is not tested: ${unreachable}`)
  }
}, 120_000)

afterAll(() => container?.remove())

/** Returns the container, or skips the test where it could not be built. */
function built({ skip }: TestContext): Container {
  if (container === undefined) return skip(unreachable)
  return container
}

/** Runs a command in the container and waits for its end. */
async function exec(inside: Container, command: readonly string[], more = {}) {
  const child = start(inside, command, { PORT: port, ...more })
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, 'close'),
  ])
  return { status, stdout, stderr }
}

/** Serves until `work` is done, sends SIGTERM as an engine does, and resolves to the exit status. */
async function serveWhile(
  inside: Container,
  more: Record<string, string>,
  work: (output: () => string) => Promise<void>,
) {
  port = String(await freePort())
  const settings = { PORT: port, ...more }
  const first = startAsFirst(inside, inside.command, settings)
  if (first === undefined) console.info('the server is not process 1 here: unshare is not installed or not allowed')
  const child = first ?? start(inside, inside.command, settings)
  const ended = once(child, 'exit')
  let printed = ''
  child.stderr?.on('data', (chunk) => {
    printed += chunk
  })
  try {
    for await (const chunk of child.stdout as NodeJS.ReadableStream) {
      printed += chunk
      if (printed.includes('listening on')) break
    }
    // The process is the only child of unshare.
    const children = first && readFileSync(`/proc/${first.pid}/task/${first.pid}/children`, 'utf8').trim()
    const id = Number(children ?? child.pid)
    if (first) expect(readFileSync(`/proc/${id}/status`, 'utf8')).toMatch(/^NSpid:\s+\d+\s+1$/m)
    await work(() => printed)
    process.kill(id, 'SIGTERM')
    const [status] = await ended
    return status
  } finally {
    child.kill('SIGKILL')
  }
}

/** Returns the files outside /data that were added, removed or changed since. */
function changesSince(before: ReturnType<typeof filesOf>, { root }: Container): string[] {
  const now = filesOf(root)
  return [...new Set([...before.keys(), ...now.keys()])]
    .filter((path) => before.get(path)?.changed !== now.get(path)?.changed)
    .map((path) => relative(root, path))
    .filter((path) => !path.startsWith('data/'))
}

describe('the container', () => {
  it('has an application layer below 12 MB, without source, development dependencies or other platforms', (context) => {
    const { root } = built(context)
    const files = [...filesOf(join(root, 'app'))]
    const bytes = files.reduce((sum, [, { size }]) => sum + size, 0)
    console.info(`application layer: ${(bytes / 1e6).toFixed(1)} MB in ${files.length} files`)
    expect(bytes).toBeLessThan(MAX_BYTES)
    const packages = readdirSync(join(root, 'app/node_modules'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('package.json'))
      .map(dirname)
    expect(packages.toSorted()).toEqual(['@node-rs/argon2', `@node-rs/argon2-linux-${process.arch}-gnu`])
    expect(files.filter(([path]) => /\.tsx?$/.test(path))).toEqual([])
    expect(files.filter(([path]) => path.endsWith('.node'))).toHaveLength(1)
    // Node comes with the image.
    expect(files.filter(([path]) => /\/node(\.exe)?$/.test(path))).toEqual([])
  })

  it('says in its labels which version it is, made of what, and when', (context) => {
    expect(built(context).labels).toMatchObject({
      'org.opencontainers.image.title': 'teslim',
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': 'MIT',
      'org.opencontainers.image.revision': ARGUMENTS.REVISION,
      'org.opencontainers.image.created': ARGUMENTS.CREATED,
      'org.opencontainers.image.source': source.url,
      'org.opencontainers.image.url': homepage,
    })
  })

  it('is teslim on the path, and says that it is a container, and of which commit', async (context) => {
    const inside = built(context)
    const { stdout } = await exec(inside, ['teslim', 'version', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ version, commit: ARGUMENTS.REVISION, form: 'container' })
    const doctor = await exec(inside, ['teslim', 'doctor', '--json'])
    expect(doctor.stdout).toContain(`in the container, built from commit ${ARGUMENTS.REVISION}`)
  })

  it('compiles nothing at its first start', async (context) => {
    const inside = built(context)
    const settings = { NODE_DEBUG_NATIVE: 'COMPILE_CACHE', DATABASE_URL: `sqlite:${join(inside.root, 'tmp/first.db')}` }
    const added = await exec(inside, ['teslim', 'customer', 'add', '--email', 'a@b.co', '--generate'], settings)
    await serveWhile(inside, settings, async (output) => {
      const health = await exec(inside, inside.healthCommand, settings)
      for (const log of [added.stderr, output(), health.stderr]) {
        expect(log).toMatch(/code cache for ESM \S+\/program\/main\.js was accepted/)
        expect(log.match(/code cache for .* was not initialized/g)).toBeNull()
      }
    })
  })

  it('serves, is healthy, takes commands, ends with 0 at SIGTERM as process 1, writes to /data only, and has what /data holds at its next start', async (context) => {
    const inside = built(context)
    const before = filesOf(inside.root)
    expect(await exec(inside, inside.healthCommand)).toMatchObject({ status: 1, stdout: '' })
    const ended = await serveWhile(inside, {}, async () => {
      expect(await exec(inside, inside.healthCommand)).toMatchObject({ status: 1, stdout: '' })
      const teslim = (...args: string[]) => exec(inside, ['teslim', ...args])
      await teslim('customer', 'add', '--email', 'a@b.co', '--api', '--allow', 'SKU-*', '--generate')
      const { stdout } = await teslim('key', 'issue', '--customer', 'a@b.co', '--json')
      await expect
        .poll(() => exec(inside, inside.healthCommand), { timeout: 20_000 })
        .toMatchObject({ status: 0, stderr: '' })
      const { status } = await fetch(`http://127.0.0.1:${port}/Purchase/update`, {
        method: 'POST',
        headers: { ApiKey: JSON.parse(stdout).key },
        body: '{"Status":1,"OrderID":"PO-1","ProductID":"SKU-1"}',
      })
      expect(status).toBe(200)
    })
    expect(ended).toBe(0)
    expect(statSync(join(inside.root, 'data/teslim.db')).uid).toBe(inside.user.uid ?? process.getuid?.())
    expect(changesSince(before, inside)).toEqual([])

    const endedAgain = await serveWhile(inside, {}, async () => {
      const { stdout } = await exec(inside, ['teslim', 'customer', 'list', '--json'])
      expect(JSON.parse(stdout)).toMatchObject([{ email: 'a@b.co' }])
    })
    expect(endedAgain).toBe(0)
  }, 60_000)

  it('serves from PostgreSQL and writes nothing at all', async (context) => {
    const inside = built(context)
    const env = { DATABASE_URL: await newDatabase(inject('postgresUrl')) }
    const before = filesOf(inside.root)
    await exec(inside, ['teslim', 'customer', 'add', '--email', 'a@b.co', '--generate'], env)
    const ended = await serveWhile(inside, env, async () => {
      expect(await exec(inside, inside.healthCommand, env)).toMatchObject({ status: 0 })
    })
    expect(ended).toBe(0)
    expect(changesSince(before, inside)).toEqual([])
    expect(filesOf(join(inside.root, 'data'))).toEqual(
      new Map([...before].filter(([path]) => path.startsWith(join(inside.root, 'data/')))),
    )
  })

  it('can be written by its user in /data and nowhere else', (context) => {
    const { root, env, user } = built(context)
    const writable = ['app', 'app/program', 'app/node_modules', 'app/node_modules/.cache/teslim', 'data'].filter(
      (folder) => {
        const file = join(root, folder, 'written')
        return spawnSync('sh', ['-c', `: > "${file}" && rm "${file}"`], { env, ...user }).status === 0
      },
    )
    expect(writable).toEqual(['data'])
    expect(statSync(join(root, 'data')).mode & 0o777).toBe(0o700)
  })
})
