import pg, { type ClientConfig, type QueryResult } from 'pg'
import { beginSession, judgeSession } from './begin-session.ts'
import { isReadOnly } from './failures.ts'
import { CONNECT_SECONDS } from './server-list.ts'

export type Values = readonly unknown[]
export type Row = Record<string, unknown>

/** `count` is the number of rows that were returned or changed. */
export type Query = (sql: string, ...values: Values) => Promise<{ readonly rows: Row[]; readonly count: number }>

/** One session at the server. It is counted until the server has ended it. */
export interface Connection {
  /** False behind a pooler, which may send each query to another session. */
  readonly direct: boolean
  /** The number of its process at the server, or of its session at the pooler. */
  readonly processId: number
  /** Null where it is not known. */
  readonly timeline: string | null
  /** Whether it carries deliveries: without waiting for answers, and never cancelled. */
  readonly pipelined: boolean
  query(sql: string, values?: Values): Promise<QueryResult>
  /** Runs a query whose `submit` writes its own protocol messages. */
  send(text: string, submit: (connection: pg.Connection) => void): Promise<QueryResult>
  /** Whether the connection must be discarded. */
  isLost(): boolean
  onLost(listener: () => void): void
  onNotice(listener: () => void): void
  /** Rejects pending queries, and ends the session once the server has answered them. */
  close(): void
  /** Closes the socket at once. */
  destroy(): void
  /** Sets whether the connection keeps the process from ending. */
  keepAlive(keep: boolean): void
}

/** A server that the URL names, and what is known of it. */
export interface Server {
  readonly address: ClientConfig
  /** All its sessions, from the first message until it has ended them. */
  readonly sessions: Set<Connection>
  /** The number of answers received. */
  answers: number
  /** When it last left a query without an answer. */
  unansweredAt: number
  /** Whether it tells its timeline, as far as is known. */
  hasTimeline: boolean
  onGone(): void
  /** Closes all sessions at once. */
  leave(): void
  /** Called while a query of deliveries takes long. */
  onLate(): void
  /** Whether the server has not ended this session yet, as far as it can tell. */
  stillHas(connection: Connection): Promise<boolean>
}

/** The server cancels a query that takes too long. Without an answer after this much longer the connection is given up. */
export const GRACE_MILLISECONDS = 1000
/** Shorter than the timeout of a lock, after which a server that stores nothing answers nevertheless. */
const LATE_MILLISECONDS = 2000
/** An ended session counts until the server has ended it, too. It is asked so often, unless it said nothing to any session meanwhile. */
const LOOK_MILLISECONDS = 10_000

/**
 * With `pipelined`, queries are sent without waiting for the answers to earlier ones, and run in their order. Else, and behind a pooler,
 * each query waits for the answer to the one before: the pooler may send them to different servers, and PgBouncer may even
 * split a query that arrives before that answer.
 */
export async function openConnection(
  server: Server,
  { timeoutSeconds, pipelined }: { readonly timeoutSeconds: number; readonly pipelined: boolean },
): Promise<Connection> {
  const settings: ClientConfig = {
    ...server.address,
    fallback_application_name: 'teslim',
    keepAlive: true,
    // Detects a silent loss of the network within 15 seconds, even while no query is pending.
    keepAliveInitialDelayMillis: 5000,
    types: { getTypeParser: typeParser as never },
    pipeline: pipelined,
  }
  const client = new pg.Client(settings) as pg.Client & { processID?: number; secretKey?: number }
  const inFlight = new Set<(error: Error) => void>()
  let limit = server.address.connectionTimeoutMillis ?? CONNECT_SECONDS * 1000
  let direct = true
  let timeline: string | null = null
  let underWay = 0
  let lost = false
  let onLost = (): void => undefined
  let last: Promise<unknown> = Promise.resolve()

  const destroy = (): void => void client.connection.stream.destroy()
  const endWhenIdle = (): void => {
    if (underWay === 0) client.end().catch(() => undefined)
  }
  /** Keeps counting the session until the server has ended it: a new one would come on top of it. */
  const lose = (error: Error): void => {
    if (lost) return
    lost = true
    for (const reject of inFlight) reject(error)
    inFlight.clear()
    let { answers } = server
    const look = setInterval(async () => {
      const silent = server.answers === answers
      answers = server.answers
      if (silent || !(await server.stillHas(connection))) destroy()
    }, LOOK_MILLISECONDS).unref()
    client.once('end', () => clearInterval(look))
    onLost()
    endWhenIdle()
  }
  /** Sends a cancel request, which the protocol wants on a new connection. The server closes that connection. */
  const requestCancel = (): void => {
    const messenger = new pg.Client(settings)
    const wire = messenger.connection as unknown as { startup(): void; cancel(...session: unknown[]): void }
    wire.startup = () => wire.cancel(client.processID, client.secretKey)
    messenger.on('error', () => undefined)
    messenger.connect().catch(() => undefined)
  }
  const giveUp = (): void => {
    if (lost) return
    server.unansweredAt = performance.now()
    // A cancelled commit of deliveries that waits for a standby would be committed without the standby, and shown to followers.
    if (!pipelined) requestCancel()
    lose(new Error(`no answer from the database within ${Math.round(limit / 1000)} s`))
  }

  // Without a listener, a connection that breaks while it is idle ends the process.
  client.on('error', lose)
  client.once('end', () => {
    lose(new Error('the connection to the database has ended'))
    server.sessions.delete(connection)
    server.onGone()
  })
  client.on('notice', ({ routine }) => {
    // The server was told to stop waiting for a standby: it commits without it and reports success.
    if (routine === 'SyncRepWaitForLSN') lose(new Error('a commit was cut short before a standby had it'))
  })

  type Callback = (error: Error | undefined, result: unknown) => void
  const runNow = (make: (callback: Callback) => pg.Query): Promise<QueryResult> =>
    new Promise((resolve, reject) => {
      if (lost) {
        reject(new Error('the connection to the database is lost'))
        return
      }
      underWay++
      inFlight.add(reject)
      const timer = setTimeout(giveUp, limit)
      const late = pipelined ? setInterval(server.onLate, Math.min(LATE_MILLISECONDS, limit / 2)).unref() : undefined
      const query = make((error, result) => {
        clearTimeout(timer)
        clearInterval(late)
        inFlight.delete(reject)
        underWay--
        if (error) {
          reject(error)
          // Behind a pooler the others would go on reading there.
          if (isReadOnly(error)) server.leave()
        } else {
          server.answers++
          resolve(result as QueryResult)
        }
        if (lost) endWhenIdle()
      })
      client.query(query)
    })
  const run: typeof runNow = (make) => {
    if (direct && pipelined) return runNow(make)
    const done = last.then(() => runNow(make))
    last = done.catch(() => undefined)
    return done
  }

  /**
   * Prepares statements by name, because PostgreSQL parses a prepared statement only once per connection. Excluded are
   * statements behind a pooler, texts without values (a migration is several statements, where a function may have a $1), and those
   * whose preparation has not been answered yet.
   */
  const preparation = (sql: string, values: Values) => {
    if (!direct || values.length === 0) return {}
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
    get processId() {
      return client.processID ?? 0
    },
    get timeline() {
      return timeline
    },
    pipelined,
    query: (sql, values = []) =>
      run((callback) => new pg.Query({ ...preparation(sql, values), text: sql, values: [...values] }, callback)),
    send: (text, submit) => run((callback) => Object.assign(new pg.Query(text, callback), { submit })),
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
  server.sessions.add(connection)
  await client.connect().catch((error) => {
    destroy()
    throw error
  })
  try {
    const beginning = await beginSession(connection, server, timeoutSeconds)
    direct = beginning.direct
    timeline = beginning.timeline
    judgeSession(beginning)
  } catch (error) {
    lose(error as Error)
    throw error
  }
  limit = timeoutSeconds * 1000 + (direct ? GRACE_MILLISECONDS : 0)
  return connection
}

const BIGINT = 20

/** Reads bigints as numbers: ours are times and counts, far below 2^53. */
const typeParser = (type: number, format: 'text' | 'binary') =>
  type === BIGINT && format !== 'binary' ? Number : pg.types.getTypeParser(type, format as never)

const names = new Map<string, string>()

/** Returns the name under which connections prepare a statement. */
function nameOf(sql: string): string {
  const name = names.get(sql) ?? `statement_${names.size}`
  names.set(sql, name)
  return name
}
