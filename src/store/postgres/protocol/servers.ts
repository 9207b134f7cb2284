import type { ClientConfig } from 'pg'
import { type Connection, openConnection, type Sessions } from './connection.ts'
import { isFull, UnsafeServer } from './failures.ts'

/** All sessions at the servers of one URL. */
export interface Servers {
  /** Opens a session at the server that took writes last, or else at the next one that takes them. */
  open(options: { readonly pipelined: boolean }): Promise<Connection>
  /** Whether one more session may be opened. `reserved`: so many others come first. */
  hasRoom(reserved?: number): boolean
  processIds(): number[]
  /** Resolves once all sessions have ended, at the latest after two seconds. */
  close(): Promise<void>
}

export interface ServersOptions {
  readonly most: number
  readonly timeoutSeconds: number
  /** Called when a session has ended. */
  onGone(): void
}

const CLOSE_MILLISECONDS = 2000

export function createServers(addresses: readonly ClientConfig[], options: ServersOptions): Servers {
  const { most, timeoutSeconds, onGone } = options
  const none = Promise.withResolvers<void>()
  let closed = false
  let current = 0
  const sessions: Sessions = {
    all: new Set(),
    answers: 0,
    onGone() {
      onGone()
      if (closed && sessions.all.size === 0) none.resolve()
    },
  }
  return {
    async open({ pipelined }) {
      for (let tries = 1; ; tries++) {
        const tried = current
        try {
          return await openConnection(addresses[tried] as ClientConfig, sessions, { timeoutSeconds, pipelined })
        } catch (error) {
          if (error instanceof UnsafeServer || isFull(error)) throw error
          // A concurrent call may have moved on already.
          if (current === tried) current = (current + 1) % addresses.length
          if (tries === addresses.length) throw error
        }
      }
    },
    hasRoom: (reserved = 0) => sessions.all.size + reserved < most,
    processIds: () => Array.from(sessions.all, ({ processId }) => processId),
    async close() {
      closed = true
      if (sessions.all.size === 0) return
      const deadline = setTimeout(() => {
        for (const connection of sessions.all) connection.destroy()
      }, CLOSE_MILLISECONDS)
      await none.promise
      clearTimeout(deadline)
    },
  }
}
