import type { QueryResult } from 'pg'
import { AppError } from '#src/lib/app-error.ts'
import { createDeliveryLine, type Line } from './deliveries/delivery-line.ts'
import { type Connection, openConnection, type Sessions, type Values } from './protocol/connection.ts'
import { type ConnectionPool, createConnectionPool } from './protocol/connection-pool.ts'
import { cannotOpen, Full, isFull, isLost, isUnavailable, Unfit, unavailable } from './protocol/failures.ts'
import type { Parameters, Statement } from './protocol/message.ts'
import { atAnyOf, serversOf } from './protocol/server-list.ts'

export type Row = Record<string, unknown>

/** Resolves to the rows, and to the number of them that were returned or changed. */
export type Query = (sql: string, ...values: Values) => Promise<{ readonly rows: Row[]; readonly count: number }>

/** A thin coat over pg against its traps: one dead connection fails one query, and no driver error gets out. */
export interface Database {
  readonly query: Query
  /** For what a delivery needs to know: waits for no reader. */
  readonly lookUp: Query
  /** Runs a query that every delivery depends on: it waits for no other look-up. */
  readonly glance: Query
  /**
   * On one connection: done in the order of the calls, of which the next need not wait for the answer to the one before.
   */
  ordered(statement: Statement, addParameters: (parameters: Parameters) => void): ReturnType<Query>
  transaction<Result>(work: (query: Query) => Promise<Result>): Promise<Result>
  /** `sql` begins it, on a connection of its own. Rejects behind a pooler, and where there is none to spare. */
  listen(sql: string, onNotice: () => void, onLost: () => void): Promise<Listening>
  /** Resolves when a delivery could be stored. */
  prove(): Promise<void>
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
  /** Whether to open the connections of deliveries now and keep them, instead of when the first one comes. */
  readonly toServe?: boolean | undefined
}

/** For deliveries two, for all else one. */
const FEWEST = 3
const CLOSE_MILLISECONDS = 2000
const UPKEEP_MILLISECONDS = 1000

export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, timeoutSeconds, toServe = false } = options
  const most = Math.max(FEWEST, options.connections)
  const none = Promise.withResolvers<void>()
  let closed = false
  const sessions: Sessions = {
    all: new Set(),
    answers: 0,
    onGone() {
      readers.wake()
      desk.wake()
      if (closed && sessions.all.size === 0) none.resolve()
    },
  }
  const openAnywhere = atAnyOf(
    serversOf(url),
    (server, pipelined: boolean) => openConnection(server, sessions, { timeoutSeconds, pipelined }),
    (error) => error instanceof Unfit || isFull(error),
  )
  const hasRoom = () => sessions.all.size < most
  const queued = {
    open: () => openAnywhere(false),
    admit: () => (line.isMissing() ? line.get() : undefined),
    mustYield: () => line.isMissing(),
    whenBusy: () => new Full('all connections are in use, and none became free'),
  }
  const readers = createConnectionPool({
    ...queued,
    // They leave room for the line and the desk.
    hasRoom: () => sessions.all.size + (line.isOpen() ? 0 : 1) + (desk.count() > 0 ? 0 : 1) < most,
  })
  /** One connection, where deliveries look up whose they are. */
  const desk = createConnectionPool({ ...queued, hasRoom: () => desk.count() === 0 && hasRoom() })
  const line = createDeliveryLine({
    async open() {
      if (!hasRoom()) throw new Full('all connections are in use')
      return openAnywhere(true)
    },
    onOpened() {
      readers.wake()
      keepDesk()
      upkeep ??= setInterval(keepDesk, UPKEEP_MILLISECONDS).unref()
    },
    onMissing(full) {
      for (const pool of [readers, desk]) {
        if (full) pool.closeIdle()
        pool.wake()
      }
    },
  })
  let upkeep: NodeJS.Timeout | undefined

  /** After a reader: where there is no room for the desk, the line can do its work. */
  const keepDesk = (): void => {
    if (desk.count() === 0) {
      readers
        .openFirst()
        .then(desk.openFirst)
        .catch(() => undefined)
    }
  }

  const take = async (pool: ConnectionPool): Promise<Connection> => {
    try {
      return await pool.take()
    } catch (error) {
      throw unavailable(error)
    }
  }

  const within = async <Result>(pool: ConnectionPool, work: (query: Query) => Promise<Result>): Promise<Result> => {
    const connection = await take(pool)
    try {
      return await work((sql, ...values) => answerOf(connection.query(sql, values), connection))
    } finally {
      pool.release(connection)
    }
  }

  const query: Query = (sql, ...values) => within(readers, (query) => query(sql, ...values))

  const onLine: Query = async (sql, ...values) => {
    const { connection } = await theLine()
    return answerOf(connection.query(sql, values), connection)
  }

  const theLine = async (): Promise<Line> => {
    try {
      return await line.get()
    } catch (error) {
      throw unavailable(error)
    }
  }

  const lookUp: Query = async (sql, ...values) => {
    if (desk.isWithout()) return onLine(sql, ...values)
    const pool = !line.isWanted() || (readers.hasIdle() && !desk.hasIdle()) ? readers : desk
    try {
      return await within(pool, (query) => query(sql, ...values))
    } catch (error) {
      if (pool === desk && desk.isWithout()) return onLine(sql, ...values)
      throw error
    }
  }

  const database: Database = {
    query,
    lookUp,
    glance: (sql, ...values) => (line.isWanted() && !desk.hasIdle() ? onLine : lookUp)(sql, ...values),
    async ordered(statement, addParameters) {
      const { connection, send } = await theLine()
      return answerOf(send(statement, addParameters), connection)
    },
    transaction: (work) =>
      within(readers, async (query) => {
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
      // The only reader that there may be is not to be kept by one who listens.
      if (most === FEWEST) throw unavailable(new Full('no connection to spare for notices'))
      const connection = await take(readers)
      let left = false
      const leave = (): void => {
        if (left) return
        left = true
        connection.close()
        readers.release(connection)
      }
      try {
        if (!connection.direct) throw new Error('a pooler passes no notices on')
        connection.onNotice(onNotice)
        connection.onLost(() => {
          if (left) return
          leave()
          onLost()
        })
        await connection.query(sql)
      } catch (error) {
        leave()
        throw unavailable(error)
      }
      return { leave, run: async (sql) => void (await connection.query(sql)) }
    },
    async prove() {
      try {
        await line.prove()
      } catch (error) {
        throw unavailable(error)
      }
    },
    async close() {
      closed = true
      clearInterval(upkeep)
      line.close()
      readers.close()
      desk.close()
      if (sessions.all.size === 0) return
      const deadline = setTimeout(() => {
        for (const connection of sessions.all) connection.destroy()
      }, CLOSE_MILLISECONDS)
      await none.promise
      clearTimeout(deadline)
    },
  }
  try {
    if (toServe) await line.get()
    else await readers.openFirst()
  } catch (error) {
    await database.close()
    throw error instanceof AppError ? error : cannotOpen(error)
  }
  return database
}

async function answerOf(sent: Promise<QueryResult>, connection: Connection): ReturnType<Query> {
  try {
    const { rows, rowCount } = await sent
    return { rows, count: rowCount ?? 0 }
  } catch (error) {
    if (isLost(error)) connection.close()
    throw isUnavailable(error) ? unavailable(error) : error
  }
}
