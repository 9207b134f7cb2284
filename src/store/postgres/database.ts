import { randomInt } from 'node:crypto'
import type { QueryResult } from 'pg'
import { AppError } from '#src/lib/app-error.ts'
import { type Connection, GRACE_MILLISECONDS, type Query } from './connection/connection.ts'
import { type ConnectionPool, createConnectionPool, onceFree } from './connection/connection-pool.ts'
import { cannotOpen, Full, isLost, isUnavailable, unavailable } from './connection/failures.ts'
import { type Listening, listenOn } from './connection/listening.ts'
import type { Parameters } from './connection/message.ts'
import { showPresence } from './connection/replicas.ts'
import type { Standby } from './connection/safety.ts'
import { serversOf } from './connection/server-list.ts'
import { createServers } from './connection/servers.ts'
import { createDeliveryConnection } from './deliveries/delivery-connection.ts'
import { createReadiness, type Readiness, refuseReadiness } from './readiness.ts'

export type { Query, Row } from './connection/connection.ts'

/** A thin layer over pg against its traps: one dead connection fails one query, and callers never see a driver error. */
export interface Database {
  readonly query: Query
  /** Runs a query that a delivery depends on. It does not wait behind readers. */
  readonly lookUp: Query
  /** Runs a query that every delivery depends on. It does not even wait behind other look-ups. */
  readonly lookUpFirst: Query
  /**
   * Runs a query whose rows followers go on from. Rejects after the loss of the connection for deliveries until something is stored:
   * what the server shows by then is at its synchronous standby, too.
   */
  readonly followed: Query
  /** Stores something first, and then does what `followed` does: a server may have been superseded without knowing it. */
  readonly followedAnew: Query
  /** Stores a batch, in the order of the calls. A call need not wait for the answer to the one before. */
  storeBatch(addParameters: (parameters: Parameters) => void): ReturnType<Query>
  /** `direct` is false behind a pooler. `begin` may also set what counts for the transaction only. */
  transaction<Result>(work: (query: Query, direct: boolean) => Promise<Result>, begin?: string): Promise<Result>
  /** Listens on a connection of its own, where `sql` is run first. Rejects behind a pooler, and when none can be spared. */
  listen(sql: string, onNotice: () => void, onLost: () => void): Promise<Listening>
  readonly prove: Readiness['prove']
  /** Rejects if the tables are not those that a delivery needs. */
  tryStatements(): Promise<void>
  close(): Promise<void>
}

export interface DatabaseOptions {
  readonly url: string
  readonly connections: number
  /** Limits each query. */
  readonly timeoutSeconds: number
  /** Whether only what waited for a standby is confirmed. */
  readonly standby?: Standby | undefined
  /** Whether to open the connections for deliveries now and keep them, instead of opening them for the first delivery. */
  readonly toServe?: boolean | undefined
}

/** Two connections for deliveries and one for everything else. */
const FEWEST = 3
const UPKEEP_MILLISECONDS = 1000

export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, timeoutSeconds, standby = 'off', toServe = false } = options
  const most = Math.max(FEWEST, options.connections)
  const servers = createServers(serversOf(url), {
    most,
    timeoutSeconds,
    onGone() {
      readers.wake()
      lookUps.wake()
    },
  })
  const server = randomInt(2 ** 31)
  const deliveries = createDeliveryConnection({
    async open() {
      const connection = await servers.openLeading({ pipelined: true })
      if (toServe) await showPresence(connection, server)
      return connection
    },
    standby,
    isCrowded: () => servers.waiting() >= Math.max(1, most - FEWEST),
    watch: (write) => readiness.watch(write),
    onLost: () => readiness.distrust(),
    onOpened() {
      readers.wake()
      keepLookUps()
      upkeep ??= setInterval(keepLookUps, UPKEEP_MILLISECONDS).unref()
    },
    onMissing(full) {
      for (const pool of [readers, lookUps]) {
        if (full) pool.closeIdle()
        pool.wake()
      }
    },
  })
  const readers = createConnectionPool({
    deliveries,
    open: servers.open,
    // Readers leave room for the connections of deliveries and look-ups.
    hasRoom: () => servers.hasRoom((deliveries.isOpen() ? 0 : 1) + (lookUps.count() > 0 ? 0 : 1)),
  })
  /** A pool of one connection, on which deliveries look up their API keys and customers. */
  const lookUps = createConnectionPool({
    deliveries,
    open: servers.open,
    hasRoom: () => lookUps.count() === 0 && servers.hasRoom(),
  })
  let upkeep: NodeJS.Timeout | undefined

  /** Opens a reader first: without room for a connection for look-ups, the delivery connection runs them. */
  const keepLookUps = (): void => {
    if (lookUps.count() === 0) {
      readers
        .openFirst()
        .then(lookUps.openFirst)
        .catch(() => undefined)
    }
  }

  const within = async <Result>(
    pool: ConnectionPool,
    work: (query: Query, direct: boolean) => Promise<Result>,
  ): Promise<Result> => {
    const connection = await available(pool.take())
    try {
      const watch = pool === readers ? readiness.watchRead : (query: Promise<QueryResult>) => query
      return await work(
        (sql, ...values) => answerOf(watch(connection.query(sql, values)), connection),
        connection.direct,
      )
    } finally {
      pool.release(connection)
    }
  }

  const query: Query = (sql, ...values) => within(readers, (query) => query(sql, ...values))

  const onDeliveryConnection: Query = async (sql, ...values) => {
    const { connection } = await available(deliveries.get())
    return answerOf(connection.query(sql, values), connection)
  }

  const lookUp: Query = async (sql, ...values) => {
    const pool = !deliveries.isWanted() || (readers.hasIdle() && !lookUps.hasIdle()) ? readers : lookUps
    try {
      return await within(pool, (query) => query(sql, ...values))
    } catch (error) {
      if (pool === lookUps && lookUps.isWithout()) return onDeliveryConnection(sql, ...values)
      throw error
    }
  }

  const lookUpFirst: Query = (sql, ...values) =>
    (deliveries.isWanted() && !lookUps.hasIdle() ? onDeliveryConnection : lookUp)(sql, ...values)

  const readiness = createReadiness({
    deliveries,
    query,
    lookUpFirst,
    processIds: servers.processIds,
    answerMilliseconds: timeoutSeconds * 1000 + GRACE_MILLISECONDS,
  })
  // What a crash left may not be at a standby yet.
  if (toServe) readiness.distrust()

  const database: Database = {
    query,
    lookUp,
    lookUpFirst,
    followed: (sql, ...values) => readiness.settled(() => query(sql, ...values)),
    followedAnew: (...query) => {
      readiness.distrust()
      return database.followed(...query)
    },
    async storeBatch(addParameters) {
      const { connection, send } = await available(deliveries.get())
      return answerOf(send(addParameters), connection)
    },
    transaction: (work, begin = 'BEGIN') =>
      within(readers, async (query, direct) => {
        await query(begin)
        try {
          const result = await work(query, direct)
          await query('COMMIT')
          return result
        } catch (error) {
          await query('ROLLBACK').catch(() => undefined)
          throw error
        }
      }),
    async listen(sql, onNotice, onLost) {
      // With a single reader, listening would leave none for queries.
      if (most === FEWEST) throw unavailable(new Full('no connection to spare for notices'))
      const connection = await available(readers.take())
      return listenOn(connection, () => readers.release(connection), { sql, onNotice, onLost })
    },
    prove: readiness.prove,
    tryStatements: () => deliveries.tryStatements().catch(refuseReadiness),
    async close() {
      clearInterval(upkeep)
      deliveries.close()
      readers.close()
      lookUps.close()
      await servers.close()
    },
  }
  try {
    if (toServe) await onceFree(deliveries.get)
    await onceFree(readers.openFirst)
  } catch (error) {
    await database.close()
    throw error instanceof AppError ? error : cannotOpen(error)
  }
  return database
}

const available = <Opened>(opening: Promise<Opened>): Promise<Opened> =>
  opening.catch((error) => {
    throw unavailable(error)
  })

async function answerOf(sent: Promise<QueryResult>, connection: Connection): ReturnType<Query> {
  try {
    const { rows, rowCount } = await sent
    return { rows, count: rowCount ?? 0 }
  } catch (error) {
    if (error instanceof AppError) throw error
    if (isLost(error)) connection.close()
    throw isUnavailable(error) ? unavailable(error) : error
  }
}
