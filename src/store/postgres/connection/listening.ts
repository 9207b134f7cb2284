import type { Connection } from './connection.ts'
import { unavailable } from './failures.ts'

export interface Listening {
  /** Runs a statement on the connection that listens. */
  run(sql: string): Promise<void>
  leave(): void
}

interface Listener {
  /** Run before notices are awaited. */
  readonly sql: string
  readonly onNotice: () => void
  readonly onLost: () => void
}

/** Listens for notices on a connection, which is closed and given back at the end. Rejects behind a pooler. */
export async function listenOn(
  connection: Connection,
  giveBack: () => void,
  { sql, onNotice, onLost }: Listener,
): Promise<Listening> {
  let left = false
  const leave = (): void => {
    if (left) return
    left = true
    connection.close()
    giveBack()
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
  let last: Promise<unknown> = Promise.resolve()
  return {
    leave,
    // One after the other, also where the database is slow.
    async run(sql) {
      const done = last.then(() => connection.query(sql))
      last = done.catch(() => undefined)
      await done
    },
  }
}
