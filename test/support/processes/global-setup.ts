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

/** For all files of a project: the program that TESLIM_UNDER_TEST names and the server that TEST_DATABASE_URL names, else our own. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  provide('program', programUnderTest())
  const server = await postgresServer()
  provide('postgresUrl', server.url)
  const emptyStore = await newDatabase(server.url)
  await createStoreWith(emptyStore, [])
  provide('emptyStore', new URL(emptyStore).pathname.slice(1))
  return async () => {
    if (made) rmSync(made, { recursive: true, force: true })
    await server.remove()
  }
}

/** The folder of the package that is made for all projects of a run. */
let made: string | undefined

function programUnderTest(): string {
  const { TESLIM_UNDER_TEST: named } = process.env
  if (named === 'checkout') return join(import.meta.dirname, '../../../bin/teslim.js')
  if (named) return resolve(named)
  if (made) return join(made, 'package/bin/teslim.js')
  const folder = mkdtempSync(join(tmpdir(), 'teslim-package-'))
  try {
    // Some tests start it as another user.
    chmodSync(folder, 0o755)
    const dist = join(folder, 'dist')
    build(dist, '--package-only')
    const program = unpack(dist, folder)
    made = folder
    return program
  } finally {
    if (made === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

async function postgresServer(): Promise<{ readonly url: string; remove(): Promise<void> }> {
  const given = process.env.TEST_DATABASE_URL
  if (given) return { url: given, remove: async () => undefined }
  // Several files use it at once, and each replica of theirs has a pool. Autovacuum would start a process every tenth of a second, as
  // there are hundreds of databases.
  return startPostgres({ settings: ['max_connections = 300', 'autovacuum = off'] })
}
