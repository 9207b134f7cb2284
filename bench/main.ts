import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { startPostgres } from '../test/support/postgres/postgres-server.ts'
import { BENCHES } from './benches.ts'
import { findLoad } from './load.ts'
import { type Chosen, chooseBench, Misuse } from './options.ts'
import { collectJson, printHead } from './report.ts'

async function measure({ name, bench, json, options }: Chosen): Promise<void> {
  // Not in the system's temporary folder, which may be memory: what is measured includes the disk.
  const folder = mkdtempSync(join(import.meta.dirname, '../data-bench-'))
  try {
    const print = json ? collectJson() : undefined
    const load = await findLoad(folder, options.shape)
    printHead(name, folder)
    const database = await openDatabase(options.postgres, folder)
    await bench.run({ ...options, ...database, folder, load }).finally(database.remove)
    print?.()
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function openDatabase(postgres: boolean, folder: string) {
  const remove = async (): Promise<void> => undefined
  if (!postgres) return { databaseUrl: `sqlite:${join(folder, 'teslim.db')}`, data: folder, remove }
  const server = await startPostgres()
  return { databaseUrl: server.url, data: server.data, remove: server.remove }
}

try {
  const chosen = chooseBench(process.argv.slice(2), BENCHES)
  if (typeof chosen === 'string') console.log(chosen)
  else await measure(chosen)
} catch (error) {
  if (!(error instanceof Misuse)) throw error
  console.error(`${error.message} (see npm run bench -- --help)`)
  process.exitCode = 2
}
