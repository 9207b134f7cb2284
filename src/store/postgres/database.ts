import pg, { type Pool, type PoolClient, type PoolConfig, type QueryResult } from 'pg'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '../store.errors.ts'
import { cannotOpen, isLost, isUnavailable, unavailable } from './failures.ts'
import { createLine, type Line } from './line.ts'
import type { Parameters, Statement } from './message.ts'
import { createServerList, serversOf } from './server-list.ts'
import { nameOf } from './statement-names.ts'

export type Row = Record<string, unknown>
type Values = readonly unknown[]

/** Resolves to the rows, and to the number of them that were returned or changed. */
export type Query = (sql: string, ...values: Values) => Promise<{ readonly rows: Row[]; readonly count: number }>

/** A thin coat over pg against its traps: one dead connection fails one query, and no driver error gets out. */
export interface Database {
  readonly query: Query
  /**
   * On one connection: done in the order of the calls, of which the next need not wait for the answer to the one before.
   */
  ordered(statement: Statement, addParameters: (parameters: Parameters) => void): ReturnType<Query>
  transaction<Result>(work: (query: Query) => Promise<Result>): Promise<Result>
  /** `sql` begins it, on a connection of its own. Rejects behind a pooler. */
  listen(sql: string, onNotice: () => void, onLost: () => void): Promise<Listening>
  close(): Promise<void>
}

export interface Listening {
  /** On that connection. */
  run(sql: string): Promise<void>
  leave(): void
}

export interface DatabaseOptions {
  readonly url: string
  readonly connections: number
  /** How long a query may take. */
  readonly timeoutSeconds: number
}

/** Of those with the server itself at the other end: behind a pooler, each query may reach another one. */
const direct = new WeakSet<PoolClient>()

/**
 * The server takes a text apart once for each connection, which is a half of what it does for the usual query. Not so behind a
 * pooler, and not what has no parameters, which may be several statements.
 */
const preparation = (client: PoolClient, sql: string) =>
  direct.has(client) && sql.includes('$1') ? { name: nameOf(sql) } : {}

/** How often a server that is away is looked for. Until it is found nobody waits for it. */
const LOOK_EVERY_MILLISECONDS = 200

export async function openDatabase({ url, connections, timeoutSeconds }: DatabaseOptions): Promise<Database> {
  const servers = createServerList(serversOf(url))
  const settings = {
    Client: servers.Client as never,
    connectionTimeoutMillis: servers.connectionTimeoutMillis,
    query_timeout: timeoutSeconds * 1000,
    keepAlive: true,
    idleTimeoutMillis: 60_000,
    allowExitOnIdle: true,
    types: { getTypeParser: typeParser as never },
    onConnect: async (client) => {
      // Without a listener, a connection that breaks while nothing is asked of it ends the process.
      client.on('error', () => undefined)
      await refuseUnfit(client as PoolClient)
    },
  } satisfies PoolConfig
  const pool = new pg.Pool({ ...settings, max: Math.max(1, connections - 2) })
  const line = new pg.Pool({ ...settings, max: 1, pipeline: true } as PoolConfig)
  const listener = new pg.Pool({ ...settings, max: 1 })
  const pools = [pool, line, listener]
  for (const each of pools) each.on('error', () => undefined)
  let away: unknown
  let opened: Promise<Line> | undefined
  let closed = false

  const connectAnywhere = async (from: Pool): Promise<PoolClient> => {
    for (let tries = 1; ; tries++) {
      const server = servers.current()
      try {
        return await from.connect()
      } catch (error) {
        servers.leave(server)
        if (tries === servers.count || error instanceof AppError) throw error
      }
    }
  }

  const look = (): void => {
    const timer = setTimeout(async () => {
      try {
        const client = await connectAnywhere(pool)
        client.release()
        away = undefined
      } catch {
        if (!closed) look()
      }
    }, LOOK_EVERY_MILLISECONDS)
    timer.unref()
  }

  const connect = async (from: Pool): Promise<PoolClient> => {
    if (away !== undefined) throw unavailable(away)
    try {
      return await connectAnywhere(from)
    } catch (error) {
      if (away === undefined) {
        away = error
        look()
      }
      throw unavailable(error)
    }
  }

  const onClient = async <Result>(work: (query: Query) => Promise<Result>): Promise<Result> => {
    const client = await connect(pool)
    let broken = false
    const query: Query = (sql, ...values) =>
      answerOf(client.query({ ...preparation(client, sql), text: sql, values: [...values] }), () => {
        broken = true
      })
    try {
      return await work(query)
    } finally {
      client.release(broken)
    }
  }

  const openLine = async (): Promise<Line> => {
    try {
      const client = await connect(line)
      return createLine(client, direct.has(client), () => {
        opened = undefined
      })
    } catch (error) {
      opened = undefined
      throw error
    }
  }

  const database: Database = {
    async ordered(statement, addParameters) {
      opened ??= openLine()
      const { send, leave } = await opened
      return answerOf(send(statement, addParameters), leave)
    },
    query: (sql, ...values) => onClient((query) => query(sql, ...values)),
    transaction: (work) =>
      onClient(async (query) => {
        await query('BEGIN')
        try {
          const result = await work(query)
          await query('COMMIT')
          return result
        } catch (error) {
          await query('ROLLBACK').catch(() => undefined)
          throw error
        }
      }),
    async listen(sql, onNotice, onLost) {
      const client = await connect(listener)
      let left = false
      const leave = (): void => {
        if (left) return
        left = true
        client.release(true)
      }
      if (!direct.has(client)) {
        leave()
        throw unavailable(new Error('a pooler passes no notices on'))
      }
      client.on('notification', onNotice)
      client.once('end', () => {
        if (left) return
        leave()
        onLost()
      })
      try {
        await client.query(sql)
      } catch (error) {
        leave()
        throw unavailable(error)
      }
      return { leave, run: async (sql) => void (await client.query(sql)) }
    },
    async close() {
      closed = true
      await opened?.then(
        ({ leave }) => leave(),
        () => undefined,
      )
      await Promise.all(pools.map((each) => each.end()))
    },
  }
  try {
    const client = await connectAnywhere(pool)
    client.release()
  } catch (error) {
    await database.close()
    throw error instanceof AppError ? error : cannotOpen(error)
  }
  return database
}

async function answerOf(sent: Promise<QueryResult>, onLost: () => void): ReturnType<Query> {
  try {
    const { rows, rowCount } = await sent
    return { rows, count: rowCount ?? 0 }
  } catch (error) {
    if (isLost(error)) onLost()
    throw isUnavailable(error) ? unavailable(error) : error
  }
}

/** A standby takes no writes, and with synchronous_commit off an answer of 200 would mean nothing. */
async function refuseUnfit(client: PoolClient): Promise<void> {
  const { rows } = await client.query(
    `SELECT current_setting('transaction_read_only') AS read_only, current_setting('synchronous_commit') AS synchronous,
            pg_backend_pid() AS process`,
  )
  // A pooler tells its clients a number of its own.
  if (rows[0].process === (client as { processID?: number }).processID) direct.add(client)
  if (rows[0].read_only === 'on') throw new Error('the server is a standby or read-only')
  if (rows[0].synchronous === 'off') {
    throw new AppError(storeErrors.cannotOpen, {
      message: 'The database has synchronous_commit off, so it could lose deliveries that were confirmed: turn it on.',
    })
  }
}

const BIGINT = 20
const SMALLER_THAN_NUMBERS_END = (text: string): number => Number(text)

/** Our bigints are times and counts, which stay far below 2^53. */
const typeParser = (type: number, format: 'text' | 'binary') =>
  type === BIGINT && format !== 'binary' ? SMALLER_THAN_NUMBERS_END : pg.types.getTypeParser(type, format as never)
