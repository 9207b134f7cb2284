import { setTimeout as wait } from 'node:timers/promises'
import type { Connection } from './connection.ts'
import { Full, isFull } from './failures.ts'

/** Lends connections, each for one piece of work at a time. */
export interface ConnectionPool {
  take(): Promise<Connection>
  release(connection: Connection): void
  /** Makes sure that there is a connection. The last connection is not closed for being idle. */
  openFirst(): Promise<void>
  /** Returns the number of connections, including those that are being opened. */
  count(): number
  /** Whether a connection is free. */
  hasIdle(): boolean
  /** Whether there is no connection, because the server refused one a moment ago. */
  isWithout(): boolean
  closeIdle(): void
  /** Makes waiting callers check again whether they can have a connection, or have to give up. */
  wake(): void
  close(): void
}

interface ConnectionPoolOptions {
  /** Whether one more connection may be opened. */
  hasRoom(): boolean
  open(): Promise<Connection>
  /** The connection of deliveries comes first: where that cannot be opened, no other one is. */
  readonly deliveries: { isMissing(): boolean; get(): Promise<unknown> }
}

const IDLE_MILLISECONDS = 60_000
const WAIT_MILLISECONDS = 2000
/** No new connection is tried for this long after the server said that it has none left. */
const FULL_MILLISECONDS = 500
const PATIENCE_MILLISECONDS = 2000
const AGAIN_MILLISECONDS = 100

const busy = (): Error => new Full('all connections are in use, and none became free')

export function createConnectionPool({ hasRoom, open, deliveries }: ConnectionPoolOptions): ConnectionPool {
  const idle: { readonly connection: Connection; readonly expiry: NodeJS.Timeout }[] = []
  /** Callers in the order of arrival. */
  const waiting = new Set<(connection?: Connection) => void>()
  let count = 0
  let fullUntil = 0
  let closed = false

  const discard = (connection: Connection): void => {
    count--
    connection.close()
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

  /** Resolves to undefined when the server has no connection left but this pool has others to wait for. */
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

  /** Resolves to a released connection, or to undefined when the caller should check again. */
  const waitUntil = (deadline: number): Promise<Connection | undefined> =>
    new Promise((resolve, reject) => {
      const settle = (connection?: Connection): void => {
        waiting.delete(settle)
        clearTimeout(timer)
        resolve(connection)
      }
      // An opening that took long may have used up the time.
      const left = Math.max(0, deadline - performance.now())
      const timer = setTimeout(() => {
        waiting.delete(settle)
        reject(busy())
      }, left)
      waiting.add(settle)
    })

  const pool: ConnectionPool = {
    async take() {
      const deadline = performance.now() + WAIT_MILLISECONDS
      for (;;) {
        if (deliveries.isMissing()) await deliveries.get()
        if (closed) throw new Error('the store is closed')
        if (pool.isWithout()) throw busy()
        const found = takeIdle() ?? (mayOpen() ? await openOne() : await waitUntil(deadline))
        if (found !== undefined) return found
      }
    },
    release(connection) {
      const [first] = waiting
      if (closed || connection.isLost() || deliveries.isMissing()) discard(connection)
      else if (first !== undefined) first(connection)
      else {
        connection.keepAlive(false)
        const expiry = setTimeout(() => {
          // This expiry belongs to the first in the list, which has been idle longest.
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

/** Tries again for a while where there is no connection left: those of a process that has just ended may still be there. */
export async function onceFree(open: () => unknown): Promise<void> {
  const deadline = performance.now() + PATIENCE_MILLISECONDS
  for (let reason: unknown; ; await wait(AGAIN_MILLISECONDS)) {
    try {
      await open()
      return
    } catch (error) {
      if (!isFull(error)) throw error
      // The server says more than a pool that has just asked it.
      reason ??= error
      if (performance.now() > deadline) throw reason
    }
  }
}
