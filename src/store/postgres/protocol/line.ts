import type pg from 'pg'
import type { QueryResult } from 'pg'
import type { Connection } from './connection.ts'
import { createMessage, type Message, type Parameters, type Preparation, type Statement } from './message.ts'

/** Sends batches over one connection, where they are done in the order in which they are sent. */
export type SendBatch = (statement: Statement, addParameters: (parameters: Parameters) => void) => Promise<QueryResult>

/** A message that holds more memory is not kept. */
const KEPT_SIZE = 1024 * 1024

/** A statement is prepared once per connection, unless a pooler gives each to another server. */
export function createLine({ direct, send }: Pick<Connection, 'direct' | 'send'>): SendBatch {
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
