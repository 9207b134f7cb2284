import { copyFileSync, mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { runSql } from '../test/support/postgres/postgres-server.ts'
import type { BenchOptions } from './options.ts'
import { type BenchServer, databaseMilliseconds, startServer } from './server-process.ts'
import { prepareTeslim, startTeslim } from './teslim-server.ts'

const servers = join(import.meta.dirname, 'servers')
const program = (name: string): string => join(servers, `${name}.ts`)

/** How each server is started that deliveries are compared with, and teslim. */
const STARTS = {
  bare: (folder) => startServer('bare', [program('bare')], folder),
  least: (folder) => startServer('least', [program('least'), join(folder, 'least.db')], folder),
  obvious: (folder) => startServer('obvious', [program('obvious'), copyOf(folder, 'obvious')], folder),
  'obvious-wal': (folder) =>
    startServer('obvious-wal', [program('obvious'), copyOf(folder, 'obvious-wal'), 'wal'], folder),
  teslim: (folder) => startTeslim(folder, `sqlite:${storeIn(folder)}`),
} as const satisfies Readonly<Record<string, (folder: string) => Promise<BenchServer>>>

type Name = keyof typeof STARTS

/** The same with PostgreSQL. */
export const POSTGRES_STARTS = {
  bare: STARTS.bare,
  least: (folder, databaseUrl) => startServer('least', [program('least-postgres'), databaseUrl], folder),
  obvious: (folder, databaseUrl) => startServer('obvious', [program('obvious-postgres'), databaseUrl], folder),
  teslim: startTeslim,
} as const satisfies Readonly<Record<string, (folder: string, databaseUrl: string) => Promise<BenchServer>>>

const storeIn = (folder: string): string => join(folder, 'teslim.db')

/** The obvious implementation works on the same tables. */
function copyOf(folder: string, name: string): string {
  const copy = join(folder, `${name}.db`)
  copyFileSync(storeIn(folder), copy)
  return copy
}

/** Runs `work` with servers that have a new store each, and stops them. */
export async function withContenders<const Names extends readonly Name[]>(
  folder: string,
  names: Names,
  work: Work<Names[number]>,
): Promise<void> {
  mkdirSync(folder, { recursive: true })
  // A copy is made of a store that no server has open, so teslim comes last.
  await withServers(`sqlite:${storeIn(folder)}`, names, (name) => STARTS[name](folder), work)
}

/** Does the same with a new database of PostgreSQL, which all of them use. What they use includes what its server uses. */
export async function withPostgresContenders<const Names extends readonly (keyof typeof POSTGRES_STARTS)[]>(
  folder: string,
  names: Names,
  { databaseUrl, data }: Pick<BenchOptions, 'databaseUrl' | 'data'>,
  work: Work<Names[number]>,
): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const database = basename(folder).replaceAll('-', '_')
  await runSql(databaseUrl, `CREATE DATABASE ${database}`)
  const url = Object.assign(new URL(databaseUrl), { pathname: database }).href
  await withServers(url, names, async (name) => withDatabase(await POSTGRES_STARTS[name](folder, url), data), work)
}

type Work<Names extends string> = (servers: Readonly<Record<Names, BenchServer>>, apiKey: string) => Promise<void>

async function withServers<Names extends string>(
  databaseUrl: string,
  names: readonly Names[],
  start: (name: Names) => Promise<BenchServer>,
  work: Work<Names>,
): Promise<void> {
  const { apiKey } = await prepareTeslim(databaseUrl)
  const started = new Map<Names, BenchServer>()
  try {
    for (const name of names) started.set(name, await start(name))
    await work(Object.fromEntries(started) as Record<Names, BenchServer>, apiKey)
  } finally {
    for (const server of started.values()) await server.stop()
  }
}

const withDatabase = (server: BenchServer, data: string): BenchServer => ({
  ...server,
  meter() {
    const [before, used] = [databaseMilliseconds(data), server.meter()]
    return () => {
      const { milliseconds, wakeUps } = used()
      return { milliseconds: milliseconds + databaseMilliseconds(data) - before, wakeUps }
    }
  },
})
