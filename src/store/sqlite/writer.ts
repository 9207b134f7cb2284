import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '../store.errors.ts'
import type { Operations, Reply, Request } from './write-operations.ts'

export interface Writer {
  /** Resolves once the operation is committed. */
  run<Name extends keyof Operations>(
    name: Name,
    args: Parameters<Operations[Name]>,
  ): Promise<ReturnType<Operations[Name]>>
  close(): Promise<void>
}

interface Pending {
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

export type SpawnWorker = (path: string) => Worker

const spawnWorker: SpawnWorker = (path) =>
  new Worker(new URL('./writer-worker.ts', import.meta.url), { workerData: { path } })

/**
 * The writer worker as seen from the request thread. It starts with the first write. When it dies, what it had under
 * way fails, since nobody can say whether it was committed, and the next write starts another.
 */
export function createWriter(path: string, spawn: SpawnWorker = spawnWorker): Writer {
  const pending = new Map<number, Pending>()
  let worker: Worker | undefined
  let nextId = 0

  const settle = ({ id, result, error }: Reply): void => {
    const waiting = pending.get(id)
    pending.delete(id)
    if (error === undefined) waiting?.resolve(result as never)
    else if (error.unavailable) waiting?.reject(new AppError(storeErrors.unavailable, { reason: error.message }))
    else waiting?.reject(new Error(`the writer failed: ${error.message}`))
  }

  const bury = (dead: Worker, cause: unknown): void => {
    if (worker !== dead) return
    worker = undefined
    for (const { reject } of pending.values()) {
      reject(new AppError(storeErrors.unavailable, { reason: 'the writer died', cause }))
    }
    pending.clear()
  }

  const start = (): Worker => {
    const started = spawn(path)
    started.on('message', settle)
    started.on('error', (error) => bury(started, error))
    started.on('exit', (code) => bury(started, new Error(`the writer ended with ${code}`)))
    return started
  }

  return {
    run(name, args) {
      worker ??= start()
      const id = nextId++
      const { promise, resolve, reject } = Promise.withResolvers<ReturnType<Operations[typeof name]>>()
      pending.set(id, { resolve, reject })
      worker.postMessage({ id, name, args } satisfies Request)
      return promise
    },
    async close() {
      if (worker === undefined) return
      const closing = worker
      worker = undefined
      const ended = once(closing, 'exit')
      closing.postMessage({ id: nextId++, name: 'close', args: [] } satisfies Request)
      await ended
    },
  }
}
