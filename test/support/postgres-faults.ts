import { onTestFinished } from 'vitest'
import { type Acknowledged, addSupplier, deliver, type Load } from './ledger.ts'
import { runSql } from './postgres-server.ts'
import { type ServerProcess, startServer } from './process.ts'
import { tempFolder } from './temp-folder.ts'

/** A server on a PostgreSQL database, under load, and how long its answers took. */
export interface UnderLoad {
  readonly server: ServerProcess
  readonly key: string
  readonly load: Load
  /** The longest wait for an answer so far, in milliseconds. */
  slowest(): number
}

interface UnderLoadOptions {
  readonly atTheEnd?: (end: () => void | Promise<void>) => void
  /** A command that is to run the server. */
  readonly through?: readonly string[]
  /** Where the server finds the database, if by another way. */
  readonly serverUrl?: string
}

export async function underLoad(
  databaseUrl: string,
  env: Record<string, string> = {},
  { atTheEnd = onTestFinished, through = [], serverUrl = databaseUrl }: UnderLoadOptions = {},
): Promise<UnderLoad> {
  const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', DATABASE_URL: databaseUrl, ...env } }
  const key = await addSupplier(where)
  const server = await startServer({ ...where, through, env: { ...where.env, DATABASE_URL: serverUrl } }, atTheEnd)
  let slowest = 0
  const load = deliver({
    url: server.url,
    key,
    onAnswer: (_status, milliseconds) => {
      slowest = Math.max(slowest, milliseconds)
    },
  })
  atTheEnd(() => load.stop())
  await load.more(50)
  return { server, key, load, slowest: () => slowest }
}

/** The deliveries that are not there exactly once with the bytes that were acknowledged. */
export async function missingFromPostgres(url: string, acknowledged: readonly Acknowledged[]): Promise<Acknowledged[]> {
  const rows = await runSql(url, 'SELECT receipt, payload FROM delivery')
  const kept = Map.groupBy(rows, ({ receipt }) => receipt)
  return acknowledged.filter(({ receipt, body }) => {
    const found = kept.get(receipt) ?? []
    return found.length !== 1 || String(found[0]?.payload) !== body
  })
}
