import pg, { type PoolClient, type QueryResult } from 'pg'
import { createMessage, type Message, type Parameters, type Preparation, type Statement } from './message.ts'

/** One connection, to which statements are sent without waiting for the answer to the one before. */
export interface Line {
  send(statement: Statement, addParameters: (parameters: Parameters) => void): Promise<QueryResult>
  /** It is of no more use. */
  leave(): void
}

/** What a message of more memory held is given back. */
const KEPT_SIZE = 1024 * 1024

/** `prepares` says whether a statement can be prepared there once and found again. */
export function createLine(client: PoolClient, prepares: boolean, onLeft: () => void): Line {
  const prepared = new Set<string>()
  const free: Message[] = []
  let left = false

  const preparationOf = ({ name }: Statement): Preparation => {
    if (!prepares) return 'once'
    if (prepared.has(name)) return 'prepared'
    prepared.add(name)
    return 'prepare'
  }

  const leave = (): void => {
    if (left) return
    left = true
    onLeft()
    client.release(true)
  }
  // Also when it breaks while nothing is asked of it.
  client.once('error', leave)

  return {
    leave,
    send: (statement, addParameters) =>
      new Promise((resolve, reject) => {
        const query = new pg.Query(statement.text, (error, result) =>
          error ? reject(error) : resolve(result as unknown as QueryResult),
        )
        query.submit = ({ stream }) => {
          const message = free.pop() ?? createMessage()
          stream.write(message.write(statement, preparationOf(statement), addParameters), () => {
            if (message.size() <= KEPT_SIZE) free.push(message)
          })
        }
        client.query(query)
      }),
  }
}
