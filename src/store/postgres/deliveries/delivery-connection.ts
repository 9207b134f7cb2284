import type pg from 'pg'
import { sharedWork } from '#src/lib/shared-work.ts'
import type { Connection } from '../connection/connection.ts'
import { isFull, UnsafeServer, unavailable } from '../connection/failures.ts'
import {
  createMessage,
  type Message,
  type Parameters,
  type Preparation,
  type Statement,
} from '../connection/message.ts'
import { ifDurable, type Standby, WAITS_FOR_STANDBY, WHY_NO_STANDBY } from '../connection/safety.ts'

/** The connection that carries deliveries. It is opened before all others, kept, and reconnects automatically. */
export interface DeliveryConnection {
  /** Rejects at once while there is no connection. */
  get(): Promise<BatchSender>
  /** Whether anybody has asked for it. A command that only administers does not need it. */
  isWanted(): boolean
  /** Whether it is wanted and there is none. */
  isMissing(): boolean
  isOpen(): boolean
  /** Calls the function that stores a batch, with an empty one. It then writes nothing and takes no position. */
  tryStatements(): Promise<void>
  /** Stores something durably. */
  storeProof(): Promise<void>
  close(): void
}

interface BatchSender {
  readonly connection: Connection
  /** Sends a batch. The database stores batches in the order in which they are sent. */
  readonly send: Send
}

type Send = (addParameters: (parameters: Parameters) => void) => Promise<pg.QueryResult>

interface DeliveryConnectionOptions {
  open(): Promise<Connection>
  readonly standby: Standby
  /** Whether so many commits that were given up wait at the server that one more could leave none of its connections to others. */
  isCrowded(): boolean
  /** Runs each batch. */
  watch(write: () => Promise<pg.QueryResult>): Promise<pg.QueryResult>
  onOpened(): void
  onLost(): void
  /** Called when it cannot be opened. `full`: because there are no connections left. */
  onMissing(full: boolean): void
}

const deliverStatement = (standby: Standby) => ({
  name: 'teslim_deliver_1',
  text: `SELECT * FROM deliver_1(${ifDurable('$1', 'bigint[]', standby)}, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
})

/** The arguments for an empty batch: arrays, and no bytes in `payloads`. */
const NO_DELIVERIES: readonly string[] = Array.from({ length: 14 }, (_, index) => (index === 12 ? '' : '{}'))

const REOPEN_MILLISECONDS = 200

/**
 * Writes to the log and to no table, so its commit is synced and waits for standbys like any other. The commit of a
 * transaction that only takes an id (`pg_current_xact_id`) does neither.
 */
const proofStatement = (standby: Standby) =>
  `SELECT pg_logical_emit_message(${ifDurable('true', 'boolean', standby)}, 'teslim', ''::text)`

/** Whoever takes the standby's name away lets commits that wait for it succeed: the next statement sees that it is gone. */
const STILL_WAITS = `SELECT ${WAITS_FOR_STANDBY} AS waits`

const CROWDED = 'commits of before still wait at the database, probably for its synchronous standby'

export function createDeliveryConnection(options: DeliveryConnectionOptions): DeliveryConnection {
  const { open, standby, isCrowded, watch, onOpened, onLost, onMissing } = options
  const deliver = deliverStatement(standby)
  const proof = proofStatement(standby)
  let sender: BatchSender | undefined
  let wanted = false
  /** Why there is no connection. */
  let missing: unknown
  let closed = false

  const openSender = sharedWork(async (): Promise<BatchSender> => {
    wanted = true
    try {
      const connection = await open()
      if (closed) {
        connection.close()
        throw new Error('the store is closed')
      }
      if (connection.isLost()) throw new Error('the connection to the database was lost at once')
      const send = sendOver(connection, deliver)
      sender = { connection, send: (batch) => watch(() => confirmed(connection, () => send(batch))) }
      connection.onLost(() => {
        sender = undefined
        onLost()
        reopen()
      })
      missing = undefined
      onOpened()
      return sender
    } catch (error) {
      missing = error
      onMissing(isFull(error))
      setTimeout(reopen, REOPEN_MILLISECONDS).unref()
      throw error
    }
  })

  const reopen = (): void => {
    if (!closed) openSender().catch(() => undefined)
  }

  const get = async (): Promise<BatchSender> => {
    if (sender !== undefined) return sender
    if (missing !== undefined) throw missing
    if (closed) throw new Error('the store is closed')
    return openSender()
  }

  const confirmed = async (connection: Connection, write: () => Promise<pg.QueryResult>): Promise<pg.QueryResult> => {
    if (isCrowded()) throw unavailable(new UnsafeServer(`The store cannot take anything: ${CROWDED}.`))
    if (standby === 'off') return write()
    const [result, { rows }] = await Promise.all([write(), connection.query(STILL_WAITS)])
    if (rows[0].waits) return result
    connection.close()
    throw unavailable(new UnsafeServer(WHY_NO_STANDBY))
  }

  const tryStatements = async (): Promise<void> => {
    const { connection } = await get()
    await connection.query(deliver.text, NO_DELIVERIES)
  }

  return {
    get,
    isWanted: () => wanted,
    isMissing: () => wanted && sender === undefined,
    isOpen: () => sender !== undefined,
    tryStatements,
    async storeProof() {
      const { connection } = await get()
      await confirmed(connection, () => connection.query(proof))
    },
    close() {
      closed = true
      sender?.connection.close()
    },
  }
}

/** A message that holds more bytes of memory is not used again. */
const KEPT_SIZE = 1024 * 1024

/** Prepares a statement once per connection, but not behind a pooler, which may send each one to another server. */
function sendOver({ direct, send }: Pick<Connection, 'direct' | 'send'>, statement: Statement): Send {
  let prepared = false
  const free: Message[] = []

  const preparation = (): Preparation => {
    if (!direct) return 'once'
    if (prepared) return 'prepared'
    prepared = true
    return 'prepare'
  }

  return (addParameters) =>
    send(statement.text, ({ stream }: pg.Connection) => {
      const message = free.pop() ?? createMessage()
      stream.write(message.write(statement, preparation(), addParameters), () => {
        if (message.size() <= KEPT_SIZE) free.push(message)
      })
    })
}
