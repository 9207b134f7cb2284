import type { Worker } from 'node:worker_threads'
import { AppError } from '#src/lib/app-error.ts'
import { monotonicMilliseconds } from '#src/lib/clock.ts'
import { startThread } from '#src/lib/program-files.ts'
import { createWorkerClient, QUIET_MILLISECONDS } from '#src/lib/worker/client.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { Store } from '#src/store/store.ts'
import type { WatchedFile } from '../store-file.ts'

/** A thread that has a connection of its own to the file, or the calling thread with a second connection. */
export interface StoreThread {
  /** `deadline`, by `monotonicMilliseconds`, limits the wait for its turn and for the lock of another process. */
  run<Result>(noun: keyof Store, name: string, args: readonly unknown[], deadline?: number): Promise<Result>
  close(): Promise<void>
}

export interface ThreadData {
  readonly path: string
  /** For the writer: the files that this process opened first. */
  readonly files?: readonly WatchedFile[]
  /** For the writer: where batches of deliveries come in. */
  readonly memories?: readonly SharedArrayBuffer[]
}

export type SpawnThread = (workerData: ThreadData) => Worker

export type Request = readonly [
  noun: keyof Store,
  name: string,
  args: readonly unknown[],
  askedAt: number,
  deadline: number,
]

export interface Failure {
  /** `unavailable`: the disk, a lock, a permission. `gone`: this process has lost the store and must end. */
  readonly kind: 'unavailable' | 'gone' | 'defect'
  readonly message: string
}

/** Performs operations on a connection of its own. */
export interface Performer {
  perform(request: Request): unknown
  failureOf(error: unknown): Failure
  /** Whether it has left something to the event loop. */
  needsTurn(): boolean
  close(): Promise<void>
}

/**
 * Opens what performs the operations in the calling thread, instead of one of their own. For commands: they wait for each operation
 * anyway, and a thread takes longer to start than most of them take.
 */
export type OpenHere = (data: ThreadData) => Performer

interface StoreThreadOptions {
  /** Names the thread in error messages. */
  readonly name: 'writer' | 'reader'
  readonly data: ThreadData
  readonly spawn?: SpawnThread | undefined
  readonly here?: OpenHere | undefined
  /** Sets the deadline of operations that come without one. */
  readonly patienceMilliseconds: number
  readonly onGone?: (reason: string) => void
  readonly idleMilliseconds?: number
}

export function createStoreThread({
  name,
  data,
  here,
  patienceMilliseconds,
  ...options
}: StoreThreadOptions): StoreThread {
  const { spawn = (workerData) => startThread('store/sqlite/thread/worker', { name, workerData }) } = options
  const onFailure = ({ kind, message }: Failure): Error => {
    if (kind === 'defect') return new Error(`the ${name} failed: ${message}`)
    if (kind === 'gone') options.onGone?.(message)
    return new AppError(storeErrors.unavailable, { reason: message })
  }
  const { ask, close } = here
    ? performHere(() => here(data), onFailure)
    : createWorkerClient<Request, Failure>({
        name: `the ${name}`,
        spawn: () => spawn(data),
        ...(options.idleMilliseconds !== undefined && { idleMilliseconds: options.idleMilliseconds }),
        onDeath: (cause) => new AppError(storeErrors.unavailable, { reason: cause.message, cause }),
        onFailure,
      })
  return {
    run(noun, name, args, deadline) {
      const askedAt = monotonicMilliseconds()
      return ask([noun, name, args, askedAt, deadline ?? askedAt + patienceMilliseconds])
    },
    close,
  }
}

/** Opens the connection with the first operation, as a thread does. */
function performHere(open: () => Performer, onFailure: (failure: Failure) => Error) {
  let performer: Performer | undefined
  return {
    async ask<Result>(request: Request): Promise<Result> {
      performer ??= open()
      try {
        return performer.perform(request) as Result
      } catch (error) {
        throw onFailure(performer.failureOf(error))
      }
    },
    close: async () => performer?.close(),
  }
}

/** The thread for reads that walk through many rows, so that the request thread never waits for them. */
export const createReader = (path: string, spawn: SpawnThread | undefined, here: OpenHere | undefined): StoreThread =>
  createStoreThread({
    name: 'reader',
    data: { path },
    spawn,
    here,
    patienceMilliseconds: Number.POSITIVE_INFINITY,
    idleMilliseconds: QUIET_MILLISECONDS,
  })
