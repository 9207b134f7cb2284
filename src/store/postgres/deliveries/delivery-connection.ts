import type pg from 'pg'
import { sharedWork } from '#src/lib/shared-work.ts'
import type { Connection } from '../protocol/connection.ts'
import { ifDurable } from '../protocol/durability.ts'
import { isFull } from '../protocol/failures.ts'
import { createMessage, type Message, type Parameters, type Preparation, type Statement } from '../protocol/message.ts'
import { DELIVER, NO_DELIVERIES } from './deliver-statement.ts'

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

export interface BatchSender {
  readonly connection: Connection
  /** Sends a batch. The database stores batches in the order in which they are sent. */
  readonly send: Send
}

type Send = (statement: Statement, addParameters: (parameters: Parameters) => void) => Promise<pg.QueryResult>

export interface DeliveryConnectionOptions {
  open(): Promise<Connection>
  /** Runs each batch. */
  watch(write: () => Promise<pg.QueryResult>): Promise<pg.QueryResult>
  onOpened(): void
  onLost(): void
  /** Called when it cannot be opened. `full`: because there are no connections left. */
  onMissing(full: boolean): void
}

const REOPEN_MILLISECONDS = 200

/**
 * Writes to the log and to no table, so its commit is synced and waits for standbys like any other. The commit of a
 * transaction that only takes an id (`pg_current_xact_id`) does neither.
 */
const PROOF = `SELECT pg_logical_emit_message(${ifDurable('true', 'boolean')}, 'teslim', ''::text)`

export function createDeliveryConnection(options: DeliveryConnectionOptions): DeliveryConnection {
  const { open, watch, onOpened, onLost, onMissing } = options
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
      const send = sendOver(connection)
      sender = { connection, send: (...batch) => watch(() => send(...batch)) }
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

  const tryStatements = async (): Promise<void> => {
    const { connection } = await get()
    await connection.query(DELIVER.text, NO_DELIVERIES)
  }

  return {
    get,
    isWanted: () => wanted,
    isMissing: () => wanted && sender === undefined,
    isOpen: () => sender !== undefined,
    tryStatements,
    storeProof: async () => void (await (await get()).connection.query(PROOF)),
    close() {
      closed = true
      sender?.connection.close()
    },
  }
}

/** A message that holds more bytes of memory is not used again. */
const KEPT_SIZE = 1024 * 1024

/** Prepares a statement once per connection, but not behind a pooler, which may send each one to another server. */
function sendOver({ direct, send }: Pick<Connection, 'direct' | 'send'>): Send {
  const prepared = new Set<string>()
  const free: Message[] = []

  const preparationOf = ({ name }: Statement): Preparation => {
    if (!direct) return 'once'
    if (prepared.has(name)) return 'prepared'
    prepared.add(name)
    return 'prepare'
  }

  return (statement, addParameters) =>
    send(statement.text, ({ stream }: pg.Connection) => {
      const message = free.pop() ?? createMessage()
      stream.write(message.write(statement, preparationOf(statement), addParameters), () => {
        if (message.size() <= KEPT_SIZE) free.push(message)
      })
    })
}
