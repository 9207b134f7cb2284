import type { Connection } from './connection.ts'
import { isFull } from './failures.ts'

/** Connections for one query at a time, each. */
export interface ConnectionPool {
  take(): Promise<Connection>
  release(connection: Connection): void
  /** Makes sure that there is one connection. The last one is not closed for being idle. */
  openFirst(): Promise<void>
  /** How many there are, those that are being opened included. */
  count(): number
  /** Whether one is free. */
  hasIdle(): boolean
  /** Whether there is none, as the server had none to give a moment ago. */
  isWithout(): boolean
  closeIdle(): void
  /** Lets those who wait look again: there is more room, or none to wait for. */
  wake(): void
  close(): void
}

export interface ConnectionPoolOptions {
  /** Whether there may be one more. */
  hasRoom(): boolean
  open(): Promise<Connection>
  /** Throws, or waits, where deliveries have to get their connection first. */
  admit(): Promise<unknown> | undefined
  /** Whether a connection that is released is wanted for deliveries. */
  mustYield(): boolean
  whenBusy(): Error
}

const IDLE_MILLISECONDS = 60_000
const WAIT_MILLISECONDS = 2000
/** After the server said that it has no connection left, for so long the ones that there are must do. */
const FULL_MILLISECONDS = 500

export function createConnectionPool({
  hasRoom,
  open,
  admit,
  mustYield,
  whenBusy,
}: ConnectionPoolOptions): ConnectionPool {
  const idle: { readonly connection: Connection; readonly expiry: NodeJS.Timeout }[] = []
  /** The one that has waited longest comes first. */
  const waiting = new Set<(connection?: Connection) => void>()
  let count = 0
  let fullUntil = 0
  let closed = false

  const discard = (connection: Connection): void => {
    count--
    connection.close()
    // There is room for one more.
    for (const settle of waiting) settle()
  }

  const closeIdle = (keep: number): void => {
    for (const { connection, expiry } of idle.splice(0, idle.length - keep)) {
      clearTimeout(expiry)
      discard(connection)
    }
  }

  const takeIdle = (): Connection | undefined => {
    const last = idle.pop()
    if (last === undefined) return undefined
    const { connection, expiry } = last
    clearTimeout(expiry)
    if (connection.isLost()) {
      discard(connection)
      return takeIdle()
    }
    connection.keepAlive(true)
    return connection
  }

  const mayOpen = (): boolean => hasRoom() && (count === 0 || performance.now() > fullUntil)

  /** Resolves to nothing where the server has no connection left and we have others to wait for. */
  const openOne = async (): Promise<Connection | undefined> => {
    count++
    try {
      return await open()
    } catch (error) {
      count--
      if (isFull(error)) fullUntil = performance.now() + FULL_MILLISECONDS
      pool.wake()
      if (isFull(error) && count > 0) return undefined
      throw error
    }
  }

  /** Resolves to a connection that was released, or to nothing where it is worth to look again. */
  const waitUntil = (deadline: number): Promise<Connection | undefined> =>
    new Promise((resolve, reject) => {
      const settle = (connection?: Connection): void => {
        waiting.delete(settle)
        clearTimeout(timer)
        resolve(connection)
      }
      const timer = setTimeout(() => {
        waiting.delete(settle)
        reject(whenBusy())
      }, deadline - performance.now())
      waiting.add(settle)
    })

  const pool: ConnectionPool = {
    async take() {
      const deadline = performance.now() + WAIT_MILLISECONDS
      for (;;) {
        const admitted = admit()
        if (admitted !== undefined) await admitted
        if (closed) throw new Error('the store is closed')
        if (pool.isWithout()) throw whenBusy()
        const found = takeIdle() ?? (mayOpen() ? await openOne() : await waitUntil(deadline))
        if (found !== undefined) return found
      }
    },
    release(connection) {
      const [first] = waiting
      if (closed || connection.isLost() || mustYield()) discard(connection)
      else if (first !== undefined) first(connection)
      else {
        connection.keepAlive(false)
        const expiry = setTimeout(() => {
          // The first in the list has been there for longest.
          if (count > 1) closeIdle(idle.length - 1)
        }, IDLE_MILLISECONDS)
        idle.push({ connection, expiry: expiry.unref() })
      }
    },
    async openFirst() {
      if (count === 0) pool.release(await pool.take())
    },
    count: () => count,
    hasIdle: () => idle.length > 0,
    isWithout: () => count === 0 && performance.now() < fullUntil,
    closeIdle: () => closeIdle(0),
    wake() {
      for (const settle of waiting) settle()
    },
    close() {
      closed = true
      closeIdle(0)
      pool.wake()
    },
  }
  return pool
}
