import type pg from 'pg'
import type { QueryResult } from 'pg'
import { sharedWork } from '#src/lib/shared-work.ts'
import type { Connection } from '../protocol/connection.ts'
import { ifDurable } from '../protocol/durability.ts'
import { isFull } from '../protocol/failures.ts'
import { createMessage, type Message, type Parameters, type Preparation, type Statement } from '../protocol/message.ts'

/** The connection that carries deliveries, which is opened before all others and kept. */
export interface DeliveryLine {
  /** Rejects at once while it cannot be had. */
  get(): Promise<Line>
  /** Whether anybody has asked for it: a command that only administers does without. */
  isWanted(): boolean
  /** Whether there is none though one is wanted. */
  isMissing(): boolean
  isOpen(): boolean
  /** Resolves when the database has stored something durably within the last seconds, or does so now. */
  prove(): Promise<void>
  close(): void
}

/** Sends batches over one connection, where they are done in the order in which they are sent. */
type SendBatch = (statement: Statement, addParameters: (parameters: Parameters) => void) => Promise<QueryResult>

export interface Line {
  readonly connection: Connection
  readonly send: SendBatch
}

export interface DeliveryLineOptions {
  open(): Promise<Connection>
  onOpened(): void
  /** Called when it cannot be had, and whether that is for want of connections. */
  onMissing(full: boolean): void
}

const AGAIN_MILLISECONDS = 200
const PROOF_MILLISECONDS = 10_000

/**
 * Writes to the log and to no table, so that its commit is synced, and waits for standbys, like any other. A transaction that
 * only takes an id (`pg_current_xact_id`) is committed without either.
 */
const PROOF = `SELECT pg_logical_emit_message(${ifDurable('true', 'boolean')}, 'teslim', ''::text)`

export function createDeliveryLine({ open, onOpened, onMissing }: DeliveryLineOptions): DeliveryLine {
  let line: Line | undefined
  let wanted = false
  /** Why there is no line. */
  let missing: unknown
  let provenAt = Number.NEGATIVE_INFINITY
  let closed = false

  const openLine = sharedWork(async (): Promise<Line> => {
    wanted = true
    try {
      const connection = await open()
      if (closed) {
        connection.close()
        throw new Error('the store is closed')
      }
      if (connection.isLost()) throw new Error('the connection to the database was lost at once')
      line = { connection, send: proving(createLine(connection)) }
      connection.onLost(() => {
        line = undefined
        provenAt = Number.NEGATIVE_INFINITY
        reopen()
      })
      missing = undefined
      onOpened()
      return line
    } catch (error) {
      missing = error
      onMissing(isFull(error))
      setTimeout(reopen, AGAIN_MILLISECONDS).unref()
      throw error
    }
  })

  const reopen = (): void => {
    if (!closed) openLine().catch(() => undefined)
  }

  const proving =
    (send: SendBatch): SendBatch =>
    async (statement, addParameters) => {
      try {
        const result = await send(statement, addParameters)
        provenAt = performance.now()
        return result
      } catch (error) {
        provenAt = Number.NEGATIVE_INFINITY
        throw error
      }
    }

  const get = async (): Promise<Line> => {
    if (line !== undefined) return line
    if (missing !== undefined) throw missing
    if (closed) throw new Error('the store is closed')
    return openLine()
  }

  return {
    get,
    isWanted: () => wanted,
    isMissing: () => wanted && line === undefined,
    isOpen: () => line !== undefined,
    prove: sharedWork(async () => {
      const { connection } = await get()
      if (performance.now() - provenAt < PROOF_MILLISECONDS) return
      await connection.query(PROOF)
      provenAt = performance.now()
    }),
    close() {
      closed = true
      line?.connection.close()
    },
  }
}

/** A message that holds more memory is not kept. */
const KEPT_SIZE = 1024 * 1024

/** A statement is prepared once per connection, unless a pooler gives each to another server. */
function createLine({ direct, send }: Pick<Connection, 'direct' | 'send'>): SendBatch {
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
