import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { monotonicMilliseconds } from '../monotonic.ts'
import type { Operation, Reply, Request } from './worker-messages.ts'

/** A worker thread that has a connection of its own to the file, as seen from the request thread. */
export interface WorkerClient<Operations extends Record<string, Operation>> {
  run<Name extends keyof Operations & string>(
    name: Name,
    args: Parameters<Operations[Name]>,
    /** By `monotonicMilliseconds`. */
    deadline?: number,
  ): Promise<ReturnType<Operations[Name]>>
  close(): Promise<void>
}

interface Pending {
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

export interface WorkerClientOptions {
  /** For the log. */
  readonly name: string
  readonly spawn: () => Worker
  /** How long an operation may wait for its turn and for the lock of another process, unless it says so itself. */
  readonly patienceMilliseconds: number
  readonly onGone?: ((reason: string) => void) | undefined
}

/**
 * It starts with the first operation. When it dies, what it had under way fails, since nobody can say what became of it, and
 * the next operation starts another.
 */
export function createWorkerClient<Operations extends Record<string, Operation>>({
  name: thread,
  spawn,
  patienceMilliseconds,
  onGone,
}: WorkerClientOptions): WorkerClient<Operations> {
  const pending = new Map<number, Pending>()
  let worker: Worker | undefined
  let nextId = 0
  let closed = false

  const settle = ({ id, result, error }: Reply): void => {
    const waiting = pending.get(id)
    pending.delete(id)
    if (error === undefined) waiting?.resolve(result as never)
    else if (error.kind === 'defect') waiting?.reject(new Error(`the ${thread} failed: ${error.message}`))
    else {
      if (error.kind === 'gone') onGone?.(error.message)
      waiting?.reject(new AppError(storeErrors.unavailable, { reason: error.message }))
    }
  }

  const bury = (dead: Worker, cause: Error): void => {
    if (worker !== dead) return
    worker = undefined
    for (const { reject } of pending.values()) {
      reject(new AppError(storeErrors.unavailable, { reason: `the ${thread} died: ${cause.message}`, cause }))
    }
    pending.clear()
  }

  const start = (): Worker => {
    const started = spawn()
    started.on('message', settle)
    started.on('error', (error: Error) => bury(started, error))
    started.on('exit', (code) => bury(started, new Error(`it ended with ${code}`)))
    return started
  }

  return {
    run(name, args, deadline = monotonicMilliseconds() + patienceMilliseconds) {
      if (closed) return Promise.reject(new AppError(storeErrors.unavailable, { reason: 'it is closed' }))
      worker ??= start()
      const id = nextId++
      const { promise, resolve, reject } = Promise.withResolvers<never>()
      pending.set(id, { resolve, reject })
      worker.postMessage({ id, name, args, deadline } satisfies Request)
      return promise
    },
    async close() {
      closed = true
      if (worker === undefined) return
      const closing = worker
      worker = undefined
      const ended = once(closing, 'exit')
      closing.postMessage({ id: nextId++, name: 'close', args: [], deadline: 0 } satisfies Request)
      await ended
    },
  }
}
