import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { sha256 } from '../../../tools/release/tested.ts'
import { newDatabase, OLDEST, runSql, startPostgres } from '../postgres/postgres-server.ts'
import { createStoreWith } from '../store/create-store.ts'
import { build, unpack } from './package.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** What tests start as `teslim`: an executable, or `bin/teslim.js` of a package or of the checkout. */
    readonly program: string
    /** The file to be shipped that `program` is or was unpacked from; undefined for a checkout and for a package that others unpacked. */
    readonly artefact: Artefact | undefined
    /** A PostgreSQL server on which databases may be made. */
    readonly postgresUrl: string
    /** A store without anything in it, as CREATE DATABASE names what it copies. */
    readonly emptyStore: string
  }
}

interface Artefact {
  readonly name: string
  readonly sha256: string
  /** Where it is during the run, unless it was removed after it had been unpacked. */
  readonly path?: string
}

interface UnderTest {
  readonly program: string
  readonly artefact?: Artefact
  /** The folder that was made for it. */
  readonly folder?: string
}

interface Shared extends UnderTest {
  readonly postgresUrl: string
  readonly emptyStore: string
  end(): Promise<void>
}

/** All projects of a run share what the first of them makes. Vitest ends it after the last test of all. */
let shared: Promise<Shared> | undefined

/** For all files of a project: the program that TESLIM_UNDER_TEST names and the server that TEST_DATABASE_URL names, else our own. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  shared ??= make()
  const { program, artefact, postgresUrl, emptyStore } = await shared
  provide('program', program)
  provide('artefact', artefact)
  provide('postgresUrl', postgresUrl)
  provide('emptyStore', emptyStore)
  return async () => {
    const ending = shared
    shared = undefined
    await (await ending)?.end()
  }
}

async function make(): Promise<Shared> {
  // Ends what was made if the rest cannot be made: a server would go on running.
  await using made = new AsyncDisposableStack()
  const { folder, ...underTest } = programUnderTest()
  if (folder) made.defer(() => rmSync(folder, { recursive: true, force: true }))
  const server = made.adopt(await postgresServer(), ({ remove }) => remove())
  const emptyStore = await newDatabase(server.url)
  await createStoreWith(emptyStore, [])
  const name = `${new URL(emptyStore).pathname.slice(1)}${await copying(server.url)}`
  const all = made.move()
  return { ...underTest, postgresUrl: server.url, emptyStore: name, end: () => all.disposeAsync() }
}

function programUnderTest(): UnderTest {
  const { TESLIM_UNDER_TEST: named } = process.env
  if (named === 'checkout') return { program: join(import.meta.dirname, '../../../bin/teslim.js') }
  if (named) {
    const path = resolve(named)
    return { program: path, ...(!path.endsWith('.js') && { artefact: artefactOf(path) }) }
  }
  const folder = mkdtempSync(join(tmpdir(), 'teslim-package-'))
  try {
    // Some tests start it as another user.
    chmodSync(folder, 0o755)
    const dist = join(folder, 'dist')
    build(dist, '--package-only')
    const [tgz = ''] = globSync('*.tgz', { cwd: dist })
    const { name, sha256 } = artefactOf(join(dist, tgz))
    return { program: unpack(dist, folder), artefact: { name, sha256 }, folder }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

/** PostgreSQL 14 has only the way to copy that is the faster one here. */
async function copying(url: string): Promise<string> {
  const [row] = await runSql(url, `SELECT current_setting('server_version_num')::integer >= 150000 AS chooses`)
  return row?.chooses ? ' STRATEGY file_copy' : ''
}

const artefactOf = (path: string) => ({ name: basename(path), sha256: sha256(readFileSync(path)), path })

async function postgresServer(): Promise<{ readonly url: string; remove(): Promise<void> }> {
  const given = process.env.TEST_DATABASE_URL
  if (given) return { url: given, remove: async () => undefined }
  // Several files use it at once, and each replica of theirs has a pool. Autovacuum would start a process every tenth of a second, as
  // there are hundreds of databases.
  const from = process.env.TEST_POSTGRES === 'oldest' ? OLDEST : undefined
  return startPostgres({ from, settings: ['max_connections = 300', 'autovacuum = off'] })
}
