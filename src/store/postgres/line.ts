import pg, { type PoolClient, type QueryResult } from 'pg'
import { createMessage, type Message, type Parameters, type Preparation, type Statement } from './message.ts'

/** One connection, on which statements are done in the order in which they are sent. */
export interface Line {
  send(statement: Statement, addParameters: (parameters: Parameters) => void): Promise<QueryResult>
  /** It is of no more use. */
  leave(): void
}

/** What a message of more memory held is given back. */
const KEPT_SIZE = 1024 * 1024

/**
 * To the server itself (`direct`) a statement is prepared once, and sent without waiting for the answer to the one before. A
 * pooler may give each to another server, and PgBouncer even a half of one, where a second comes before the answer.
 */
export function createLine(client: PoolClient, direct: boolean, onLeft: () => void): Line {
  const prepared = new Set<string>()
  const free: Message[] = []
  let left = false
  let last: Promise<unknown> = Promise.resolve()

  const preparationOf = ({ name }: Statement): Preparation => {
    if (!direct) return 'once'
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

  const sendNow: Line['send'] = (statement, addParameters) =>
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
    })

  return {
    leave,
    send(statement, addParameters) {
      if (direct) return sendNow(statement, addParameters)
      const sent = last.then(() => sendNow(statement, addParameters))
      last = sent.catch(() => undefined)
      return sent
    },
  }
}
