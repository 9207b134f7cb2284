import pg, { type ClientConfig, type QueryResult } from 'pg'
import { DURABILITY, whyNotDurable } from './durability.ts'
import { Unfit } from './failures.ts'
import { CONNECT_SECONDS } from './server-list.ts'

export type Values = readonly unknown[]

/** One session at the server, which is never left there unnoticed. */
export interface Connection {
  /** Whether the server itself is at the other end: behind a pooler, each query may reach another one. */
  readonly direct: boolean
  query(sql: string, values?: Values): Promise<QueryResult>
  /** Runs a query that writes its own messages. */
  send(text: string, submit: (connection: pg.Connection) => void): Promise<QueryResult>
  /** Whether it is of no use any more. */
  isLost(): boolean
  onLost(listener: () => void): void
  onNotice(listener: () => void): void
  /** Fails what is under way, and ends the session once the server has answered it. */
  close(): void
  /** Ends it at once. */
  destroy(): void
  /** Whether it keeps the process from ending. */
  keepAlive(keep: boolean): void
}

/** All there are at the servers of one URL, from the first word to them until they have let go. */
export interface Sessions {
  readonly all: Set<Connection>
  /** How many answers have come. */
  answers: number
  onGone(): void
}

/** The server ends a query by itself; one whose end it has not told after this much more is given up. */
const GRACE_MILLISECONDS = 1000
/** For so long a session that we end counts if the server says nothing more: longer if it answers others meanwhile. */
const SILENT_MILLISECONDS = 10_000
const LONGEST_MILLISECONDS = 60_000

/**
 * With `pipelined` a query is sent without waiting for the answers to those before, in whose order they are done: not
 * behind a pooler, which may give each to another server, and PgBouncer even a half of one where a second comes before
 * the answer.
 */
export async function openConnection(
  server: ClientConfig,
  sessions: Sessions,
  { timeoutSeconds, pipelined }: { readonly timeoutSeconds: number; readonly pipelined: boolean },
): Promise<Connection> {
  const settings: ClientConfig = {
    ...server,
    fallback_application_name: 'teslim',
    keepAlive: true,
    // A server that is cut off without a word is found out in 15 seconds, as here, when nothing is asked of it.
    keepAliveInitialDelayMillis: 5000,
    types: { getTypeParser: typeParser as never },
    pipeline: pipelined,
  }
  const client = new pg.Client(settings) as pg.Client & { processID?: number; secretKey?: number }
  const inFlight = new Set<(error: Error) => void>()
  let limit = server.connectionTimeoutMillis ?? CONNECT_SECONDS * 1000
  let direct = true
  let underWay = 0
  let lost = false
  let onLost = (): void => undefined
  let last: Promise<unknown> = Promise.resolve()

  const destroy = (): void => void client.connection.stream.destroy()
  const endWhenIdle = (): void => {
    if (underWay === 0) client.end().catch(() => undefined)
  }
  /** A session counts until the server is through with it, as a new one would come on top of it. */
  const lose = (error: Error): void => {
    if (lost) return
    lost = true
    for (const reject of inFlight) reject(error)
    inFlight.clear()
    const { answers } = sessions
    const silent = setTimeout(() => {
      if (sessions.answers === answers) destroy()
    }, SILENT_MILLISECONDS).unref()
    const longest = setTimeout(destroy, LONGEST_MILLISECONDS).unref()
    client.once('end', () => {
      clearTimeout(silent)
      clearTimeout(longest)
    })
    onLost()
    endWhenIdle()
  }
  const giveUp = (): void => {
    if (lost) return
    // Not a commit of deliveries that waits for a standby: it would be made without one.
    if (!(pipelined && direct)) requestCancel(settings, client)
    lose(new Error(`no answer from the database within ${Math.round(limit / 1000)} s`))
  }

  // Without a listener, a connection that breaks while nothing is asked of it ends the process.
  client.on('error', lose)
  client.once('end', () => {
    lose(new Error('the connection to the database has ended'))
    sessions.all.delete(connection)
    sessions.onGone()
  })
  client.on('notice', ({ routine }) => {
    // Told to stop waiting for a standby, the server commits here, and says that it has committed.
    if (routine === 'SyncRepWaitForLSN') lose(new Error('a commit was cut short before a standby had it'))
  })

  type Callback = (error: Error | undefined, result: unknown) => void
  const run = (make: (callback: Callback) => pg.Query): Promise<QueryResult> =>
    new Promise((resolve, reject) => {
      if (lost) {
        reject(new Error('the connection to the database is lost'))
        return
      }
      underWay++
      inFlight.add(reject)
      const timer = setTimeout(giveUp, limit)
      const query = make((error, result) => {
        clearTimeout(timer)
        inFlight.delete(reject)
        underWay--
        if (error) reject(error)
        else {
          sessions.answers++
          resolve(result as QueryResult)
        }
        if (lost) endWhenIdle()
      })
      client.query(query)
    })
  const inTurn = (work: () => Promise<QueryResult>): Promise<QueryResult> => {
    if (direct || !pipelined) return work()
    const done = last.then(work)
    last = done.catch(() => undefined)
    return done
  }

  /**
   * PostgreSQL parses a prepared statement once per connection, which is half of what the usual query costs it. Not so
   * behind a pooler, and not what has no parameters, which may be several statements. While the first answer is still to
   * come nobody knows whether there will be such a statement.
   */
  const preparation = (sql: string) => {
    if (!direct || !sql.includes('$1')) return {}
    const name = nameOf(sql)
    const { submittedNamedStatements: sent } = client.connection as unknown as {
      submittedNamedStatements: Record<string, string>
    }
    return sent[name] === undefined ? { name } : {}
  }

  const connection: Connection = {
    get direct() {
      return direct
    },
    query: (sql, values = []) =>
      inTurn(() => run((callback) => new pg.Query({ ...preparation(sql), text: sql, values: [...values] }, callback))),
    send: (text, submit) =>
      inTurn(() =>
        run((callback) => {
          const query = new pg.Query(text, callback)
          query.submit = submit
          return query
        }),
      ),
    isLost: () => lost,
    onLost(listener) {
      onLost = listener
    },
    onNotice: (listener) => void client.on('notification', listener),
    close: () => lose(new Error('the connection to the database is being closed')),
    destroy,
    keepAlive(keep) {
      const { stream } = client.connection as unknown as { stream: NodeJS.Socket & { ref(): void; unref(): void } }
      if (keep) stream.ref()
      else stream.unref()
    },
  }
  sessions.all.add(connection)
  await client.connect().catch((error) => {
    destroy()
    throw error
  })
  try {
    const { rows } = await connection.query(beginSession(client.processID ?? 0, timeoutSeconds))
    const { direct: isDirect, read_only: readOnly, durability } = rows[0]
    direct = isDirect
    if (readOnly) throw new Error('the server is a standby or read-only')
    const why = whyNotDurable(durability)
    if (why !== undefined) throw new Unfit(why)
  } catch (error) {
    lose(error as Error)
    throw error
  }
  limit = timeoutSeconds * 1000 + (direct ? GRACE_MILLISECONDS : 0)
  return connection
}

/**
 * A pooler tells its clients a process number of its own. Only where there is none are settings of the session ours: the
 * server is to end by itself what we would no longer wait for, and what a network that was cut has left behind.
 */
const beginSession = (processId: number, timeoutSeconds: number): string => {
  const settings = {
    statement_timeout: `${timeoutSeconds}s`,
    idle_in_transaction_session_timeout: `${timeoutSeconds}s`,
    // A commit that was cut short says so with a warning only.
    client_min_messages: 'warning',
    tcp_keepalives_idle: '5',
    tcp_keepalives_interval: '5',
    tcp_keepalives_count: '3',
  }
  const set = Object.entries(settings).map(([name, value]) => `set_config('${name}', '${value}', false)`)
  return `SELECT pg_backend_pid() = ${processId} AS direct, current_setting('transaction_read_only') = 'on' AS read_only, ${DURABILITY} AS durability,
    CASE WHEN pg_backend_pid() = ${processId} THEN concat(${set.join(', ')}) END`
}

/** In a connection of its own, as the protocol wants it, which the other side ends. */
function requestCancel(settings: ClientConfig, { processID, secretKey }: { processID?: number; secretKey?: number }) {
  const messenger = new pg.Client(settings)
  const wire = messenger.connection as unknown as {
    startup(): void
    cancel(processId: unknown, secretKey: unknown): void
  }
  wire.startup = () => wire.cancel(processID, secretKey)
  messenger.on('error', () => undefined)
  messenger.connect().catch(() => undefined)
}

const BIGINT = 20
const SMALLER_THAN_NUMBERS_END = (text: string): number => Number(text)

/** Our bigints are times and counts, which stay far below 2^53. */
const typeParser = (type: number, format: 'text' | 'binary') =>
  type === BIGINT && format !== 'binary' ? SMALLER_THAN_NUMBERS_END : pg.types.getTypeParser(type, format as never)

const names = new Map<string, string>()

/** One name for each text, by which a connection knows whether it has prepared it. */
function nameOf(sql: string): string {
  const name = names.get(sql) ?? `statement_${names.size}`
  names.set(sql, name)
  return name
}
