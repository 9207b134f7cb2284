import { onTestFinished } from 'vitest'
import { ask } from '../app/ask.ts'
import { atTheEnd } from '../at-the-end.ts'
import { type Acknowledged, deliver, keyOfSupplier, type Load } from '../processes/ledger.ts'
import { runPrepared } from '../processes/prepared-commands.ts'
import { type ServerProcess, serve } from '../processes/process.ts'
import { tempFolder } from '../temp-folder.ts'
import { pace } from '../until.ts'
import { type PostgresServer, runSql, startPostgres } from './postgres-server.ts'

/** Between an answer and the next read of a client. */
const PAUSE_MILLISECONDS = 5

/** A server on a PostgreSQL database, under load, and how long its answers took. */
export interface UnderLoad {
  readonly server: ServerProcess
  readonly key: string
  readonly load: Load
  /** The longest wait for an answer so far, in milliseconds. */
  slowest(): number
}

/** Starts a primary and its standby, which is synchronous once `waitForStandby` was called, until the end of the test or the file. */
export async function startPair(): Promise<{ readonly primary: PostgresServer; readonly standby: PostgresServer }> {
  const primary = await startPostgres({ settings: ["wal_keep_size = '256MB'"] })
  const { port } = new URL(primary.url)
  const settings = [`primary_conninfo = 'host=127.0.0.1 port=${port} user=teslim'`]
  const standby = await startPostgres({ standbyOf: primary, settings })
  atTheEnd(() => Promise.all([primary.remove(), standby.remove()]).then(() => undefined))
  return { primary, standby }
}

/** Each by itself, as ALTER SYSTEM runs in no transaction. */
export async function alterSystem({ url }: PostgresServer, statement: string): Promise<void> {
  await runSql(url, `ALTER SYSTEM ${statement}`)
  await runSql(url, 'SELECT pg_reload_conf()')
}

export const waitForStandby = (primary: PostgresServer): Promise<void> =>
  alterSystem(primary, `SET synchronous_standby_names = '*'`)

/** From now on nothing that is written reaches a standby, not even what lies in a network buffer. Ends with the server. */
export async function stopSending({ url }: PostgresServer): Promise<void> {
  for (const { pid } of await runSql(url, 'SELECT pid FROM pg_stat_replication')) process.kill(pid as number, 'SIGSTOP')
}

/** The URL of several servers, in this order. */
export const urlOfAll = (first: string, ...others: string[]): string =>
  others.reduce((url, other) => url.replace(/(@[^/]+)/, `$1,${new URL(other).host}`), first)

interface UnderLoadOptions {
  /** A command that is to run the server. */
  readonly through?: readonly string[]
  /** Where the server finds the database, if by another way. */
  readonly serverUrl?: string
  /** What the server has to wait for. */
  readonly beforeServe?: () => Promise<void>
}

export async function underLoad(
  databaseUrl: string,
  env: Record<string, string> = {},
  { through = [], serverUrl = databaseUrl, beforeServe }: UnderLoadOptions = {},
): Promise<UnderLoad> {
  const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', DATABASE_URL: databaseUrl, ...env } }
  const key = await keyOfSupplier(where)
  await beforeServe?.()
  const server = await serve({ ...where, through, env: { ...where.env, DATABASE_URL: serverUrl } })
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

/** Resolves to the password of an operator. */
export async function addReader(databaseUrl: string): Promise<string> {
  const env = { NODE_ENV: 'production', DATABASE_URL: databaseUrl }
  const add = ['customer', 'add', '--email', 'o@b.co', '--api', '--operator', '--region', 'TR', '--generate', '--json']
  return JSON.parse((await runPrepared(add, { cwd: '/', env })).stdout).password
}

interface Reader {
  /** Reads the first `limit` deliveries of the feed. Those who read alike share a query. */
  look(limit: number): Promise<number>
  /** Reads on in the feed, from its beginning at first. */
  read(): Promise<number>
  /** The orders that it has read. */
  readonly orders: string[]
}

export interface Follower extends Reader {
  login(): Promise<number>
  /** Another one with the same token. */
  readerAt(url: string): Reader
}

/** An operator who follows the feed with one token. */
export async function startFollower(url: string, password: string): Promise<Follower> {
  const credentials = JSON.stringify({ Email: 'o@b.co', Password: password })
  const headers = { 'content-type': 'application/json' }
  const logIn = () => ask(`${url}/Login/Customer/Api/Verify`, { method: 'POST', headers, body: credentials })
  const { data } = JSON.parse((await logIn()).body) as { data: { Token: string } }
  const readerAt = (place: string): Reader => {
    const get = (query: string) =>
      ask(`${place}/Purchase/feed?payload=none${query}`, {
        method: 'GET',
        headers: { authorization: `Bearer ${data.Token}` },
      })
    const orders: string[] = []
    let after = ''
    return {
      orders,
      look: async (limit) => (await get(`&limit=${limit}`)).status,
      async read() {
        const answer = await get(`&limit=1000${after}`)
        if (answer.status !== 200) return answer.status
        const page = (JSON.parse(answer.body) as { data: { Deliveries: { OrderID: string }[]; NextCursor: string } })
          .data
        orders.push(...page.Deliveries.map(({ OrderID }) => OrderID))
        after = `&after=${page.NextCursor}`
        return answer.status
      },
    }
  }
  return { ...readerAt(url), login: async () => (await logIn()).status, readerAt }
}

/**
 * Five clients that read all the time. With the connections for deliveries and look-ups they have all but one of a pool of eight, so the next
 * one for deliveries would leave none to readers if those were lost.
 */
export function keepReading({ look }: Follower): () => Promise<void> {
  let reading = true
  const all = Promise.all(
    [1, 2, 3, 4, 5].map(async (limit) => {
      for (; reading; await pace(PAUSE_MILLISECONDS)) await look(limit)
    }),
  )
  const stop = async (): Promise<void> => {
    reading = false
    await all
  }
  onTestFinished(stop)
  return stop
}

/** How many sessions of teslim a server has. A commit that waits for a standby does not notice that its client has left. */
export const sessionsAt = async ({ url }: PostgresServer): Promise<number> => {
  const sessions = `SELECT FROM pg_stat_activity WHERE application_name = 'teslim' AND wait_event IS DISTINCT FROM 'SyncRep'`
  return (await runSql(url, sessions)).length
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
