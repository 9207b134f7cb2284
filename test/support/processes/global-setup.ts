import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { newDatabase, startPostgres } from '../postgres/postgres-server.ts'
import { createStoreWith } from '../store/create-store.ts'
import { build, unpack } from './package.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** What tests start as `teslim`: an executable, or `bin/teslim.js` of a package or of the checkout. */
    readonly program: string
    /** A PostgreSQL server on which databases may be made. */
    readonly postgresUrl: string
    /** A database there that is copied: a store without anything in it. */
    readonly emptyStore: string
  }
}

interface Shared {
  readonly program: string
  readonly postgresUrl: string
  readonly emptyStore: string
  end(): Promise<void>
}

/** All projects of a run share what the first of them makes. Vitest ends it after the last test of all. */
let shared: Promise<Shared> | undefined

/** For all files of a project: the program that TESLIM_UNDER_TEST names and the server that TEST_DATABASE_URL names, else our own. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  shared ??= make()
  const { program, postgresUrl, emptyStore } = await shared
  provide('program', program)
  provide('postgresUrl', postgresUrl)
  provide('emptyStore', emptyStore)
  return async () => {
    const ending = shared
    shared = undefined
    await (await ending)?.end()
  }
}

async function make(): Promise<Shared> {
  const { program, folder } = programUnderTest()
  const server = await postgresServer()
  const emptyStore = await newDatabase(server.url)
  await createStoreWith(emptyStore, [])
  return {
    program,
    postgresUrl: server.url,
    emptyStore: new URL(emptyStore).pathname.slice(1),
    async end() {
      if (folder) rmSync(folder, { recursive: true, force: true })
      await server.remove()
    },
  }
}

/** A program, and the folder that was made for it. */
function programUnderTest(): { readonly program: string; readonly folder?: string } {
  const { TESLIM_UNDER_TEST: named } = process.env
  if (named === 'checkout') return { program: join(import.meta.dirname, '../../../bin/teslim.js') }
  if (named) return { program: resolve(named) }
  const folder = mkdtempSync(join(tmpdir(), 'teslim-package-'))
  try {
    // Some tests start it as another user.
    chmodSync(folder, 0o755)
    const dist = join(folder, 'dist')
    build(dist, '--package-only')
    return { program: unpack(dist, folder), folder }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

async function postgresServer(): Promise<{ readonly url: string; remove(): Promise<void> }> {
  const given = process.env.TEST_DATABASE_URL
  if (given) return { url: given, remove: async () => undefined }
  // Several files use it at once, and each replica of theirs has a pool. Autovacuum would start a process every tenth of a second, as
  // there are hundreds of databases.
  return startPostgres({ settings: ['max_connections = 300', 'autovacuum = off'] })
}
