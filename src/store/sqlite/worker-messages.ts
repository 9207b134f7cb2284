import type { MessagePort } from 'node:worker_threads'
import { AppError } from '#src/lib/app-error.ts'
import type { Database } from './database.ts'

export type Operation = (...args: never[]) => unknown

export interface Request {
  readonly id: number
  /** An operation, or `close`. */
  readonly name: string
  readonly args: readonly unknown[]
}

export interface Reply {
  readonly id: number
  readonly result?: unknown
  readonly error?: {
    /** The disk, a lock, a permission: not a defect. */
    readonly unavailable: boolean
    readonly message: string
  }
}

/** What a worker does: each message is one operation, answered when it is done. */
export function answerMessages(port: MessagePort, database: Database, operations: object): void {
  const byName = new Map<string, unknown>(Object.entries(operations))

  port.on('message', ({ id, name, args }: Request) => {
    try {
      if (name === 'close') {
        database.close()
        port.close()
      } else {
        const operation = byName.get(name) as (...args: readonly unknown[]) => unknown
        port.postMessage({ id, result: operation(...args) } satisfies Reply)
      }
    } catch (error) {
      const unavailable = error instanceof AppError
      const message = unavailable ? (error.details.reason ?? error.message) : String((error as Error).stack)
      port.postMessage({ id, error: { unavailable, message } } satisfies Reply)
    }
  })
}
