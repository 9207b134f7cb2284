import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type BenchServer, startServer } from './server-process.ts'
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
  work: (servers: Readonly<Record<Names[number], BenchServer>>, apiKey: string) => Promise<void>,
): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const { apiKey } = await prepareTeslim(`sqlite:${storeIn(folder)}`)
  const started = new Map<Name, BenchServer>()
  try {
    // A copy is made of a store that no server has open, so teslim comes last.
    for (const name of names) started.set(name, await STARTS[name](folder))
    await work(Object.fromEntries(started) as Record<Names[number], BenchServer>, apiKey)
  } finally {
    for (const server of started.values()) await server.stop()
  }
}
