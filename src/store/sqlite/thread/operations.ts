import type { MessagePort, Worker } from 'node:worker_threads'
import { AppError } from '#src/lib/app-error.ts'
import { monotonicMilliseconds } from '#src/lib/clock.ts'
import { answerRequests } from '#src/lib/worker/answer.ts'
import { createWorkerClient } from '#src/lib/worker/client.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { Store } from '#src/store/store.ts'
import type { Database } from '../database.ts'

type Noun = keyof Store
type Operation = (...args: readonly unknown[]) => unknown

/** A thread that has a connection of its own to the file, or the calling thread with a second connection. */
export interface StoreThread {
  /** `deadline`, by `monotonicMilliseconds`, limits the wait for its turn and for the lock of another process. */
  run<Result>(noun: Noun, name: string, args: readonly unknown[], deadline?: number): Promise<Result>
  close(): Promise<void>
}

interface Request {
  readonly noun: Noun
  readonly name: string
  readonly args: readonly unknown[]
  readonly askedAt: number
  readonly deadline: number
}

interface Failure {
  /** `unavailable`: the disk, a lock, a permission. `gone`: this process has lost the store and must end. */
  readonly kind: 'unavailable' | 'gone' | 'defect'
  readonly message: string
}

/** Performs operations on a connection of its own. */
export interface Performer {
  perform(request: Request): unknown
  failureOf(error: unknown): Failure
  close(): Promise<void>
}

interface StoreThreadOptions {
  /** Names the thread in error messages. */
  readonly name: string
  readonly spawn: () => Worker
  /**
   * Opens what performs the operations in the calling thread, instead of one of their own. For commands: they wait for each operation
   * anyway, and a thread takes longer to start than most of them take.
   */
  readonly here?: (() => Performer) | undefined
  /** Sets the deadline of operations that come without one. */
  readonly patienceMilliseconds: number
  readonly onGone?: (reason: string) => void
  readonly idleMilliseconds?: number
}

export function createStoreThread(options: StoreThreadOptions): StoreThread {
  const { name, spawn, here, patienceMilliseconds, onGone, idleMilliseconds } = options
  const onFailure = ({ kind, message }: Failure): Error => {
    if (kind === 'defect') return new Error(`the ${name} failed: ${message}`)
    if (kind === 'gone') onGone?.(message)
    return new AppError(storeErrors.unavailable, { reason: message })
  }
  const { ask, close } = here
    ? performHere(here, onFailure)
    : createWorkerClient<Request, Failure>({
        name: `the ${name}`,
        spawn,
        ...(idleMilliseconds !== undefined && { idleMilliseconds }),
        onDeath: (cause) => new AppError(storeErrors.unavailable, { reason: cause.message, cause }),
        onFailure,
      })
  return {
    run(noun, name, args, deadline) {
      const askedAt = monotonicMilliseconds()
      return ask({ noun, name, args, askedAt, deadline: deadline ?? askedAt + patienceMilliseconds })
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

interface PerformerOptions {
  /** Throws unless an operation may begin. */
  readonly admit?: () => void
  /** Throws if what an operation did must not be confirmed. */
  readonly confirm?: () => void
  readonly onClose?: () => Promise<void>
}

export function createPerformer(
  database: Database,
  operations: { readonly [Name in Noun]?: object },
  { admit = () => undefined, confirm = () => undefined, onClose = async () => undefined }: PerformerOptions = {},
): Performer {
  let gone: AppError | undefined
  const startedAt = monotonicMilliseconds()

  /** Returns the time until which to work on it. On a busy machine a thread may take seconds to start; what waited for that is not late. */
  const deadlineOf = ({ deadline, askedAt }: Request): number => deadline + Math.max(0, startedAt - askedAt)

  return {
    perform(request) {
      const { noun, name, args } = request
      if (gone !== undefined) throw gone
      const deadline = deadlineOf(request)
      if (monotonicMilliseconds() >= deadline) throw new AppError(storeErrors.unavailable, { reason: TOO_LATE })
      admit()
      database.waitForLockUntil(deadline)
      const operation = (operations[noun] as Record<string, Operation>)[name] as Operation
      const result = operation(...args)
      confirm()
      return result
    },
    failureOf(error) {
      if (!(error instanceof AppError)) return { kind: 'defect', message: String((error as Error).stack) }
      if (error.code === storeErrors.gone.code) gone = error
      return { kind: error === gone ? 'gone' : 'unavailable', message: error.details.reason ?? error.message }
    },
    async close() {
      await onClose()
      database.close()
    },
  }
}

/** Runs in a thread of its own: answers each operation when it is done and confirmed. */
export const answerOperations = (port: MessagePort, { perform, failureOf, close }: Performer): void =>
  answerRequests(port, perform, { failureOf, onClose: close })

const TOO_LATE = 'earlier operations took too long'
