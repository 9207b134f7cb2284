import type { MessagePort } from 'node:worker_threads'
import { AppError } from '#src/lib/app-error.ts'
import { monotonicMilliseconds } from '#src/lib/clock.ts'
import { answerRequests, type Settled } from '#src/lib/worker/answer.ts'
import { createWorkerClient, type Peer } from '#src/lib/worker/client.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { Store } from '#src/store/store.ts'
import type { Database } from '../database.ts'

/** Methods of a port as functions of a database, which a thread with a connection of its own runs. */
export type Operations<Port> = {
  readonly [Name in keyof Port]?: Port[Name] extends (...args: infer Args) => Promise<infer Result>
    ? (database: Database, ...args: Args) => Result
    : never
}

type Bound<Work> = {
  readonly [Name in keyof Work]: Work[Name] extends (database: Database, ...args: infer Args) => infer Result
    ? (...args: Args) => Result
    : never
}

type Sent<Work> = {
  readonly [Name in keyof Bound<Work>]: Bound<Work>[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Result>
    : never
}

type Operation = (...args: readonly unknown[]) => unknown

const mapOperations = <Result>(work: object, change: (operation: Operation, name: string) => Operation): Result =>
  Object.fromEntries(Object.entries(work).map(([name, operation]) => [name, change(operation, name)])) as Result

/** Returns methods that run the operations here, on this database. */
export const bindOperations = <Work extends object>(work: Work, database: Database): Bound<Work> =>
  mapOperations(
    work,
    (operation) =>
      (...args) =>
        operation(database, ...args),
  )

/** Returns methods that let a thread run the operations. The thread finds them by noun and name. */
export const sendOperations = <Work extends object>(work: Work, { run }: StoreThread, noun: Noun): Sent<Work> =>
  mapOperations(
    work,
    (_, name) =>
      (...args) =>
        run(noun, name, args),
  )

type Noun = keyof Store

/** A thread that has a connection of its own to the file. */
export interface StoreThread {
  /** `deadline`, by `monotonicMilliseconds`, limits the wait for its turn and for the lock of another process. */
  run<Result>(noun: Noun, name: string, args: readonly unknown[], deadline?: number): Promise<Result>
  /** Lets another thread of this process use this one, through the other end of the port. */
  join(port: MessagePort): void
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

export interface StoreThreadOptions {
  /** Names the thread in error messages. */
  readonly name: string
  readonly spawn: () => Peer
  /** Sets the deadline of operations that come without one. */
  readonly patienceMilliseconds: number
  readonly onGone?: (reason: string) => void
  readonly idleMilliseconds?: number
}

export function createStoreThread(options: StoreThreadOptions): StoreThread {
  const { name, spawn, patienceMilliseconds, onGone, idleMilliseconds } = options
  const client = createWorkerClient<Request, Failure>({
    name: `the ${name}`,
    spawn,
    ...(idleMilliseconds !== undefined && { idleMilliseconds }),
    onDeath: (cause) => new AppError(storeErrors.unavailable, { reason: cause.message, cause }),
    onFailure({ kind, message }) {
      if (kind === 'defect') return new Error(`the ${name} failed: ${message}`)
      if (kind === 'gone') onGone?.(message)
      return new AppError(storeErrors.unavailable, { reason: message })
    },
  })
  return {
    run(noun, name, args, deadline) {
      const askedAt = monotonicMilliseconds()
      return client.ask({ noun, name, args, askedAt, deadline: deadline ?? askedAt + patienceMilliseconds })
    },
    join: client.join,
    close: client.close,
  }
}

export interface AnswerOperationsOptions {
  /** Throws unless an operation may begin. */
  readonly admit?: () => void
  readonly confirm?: () => void
  readonly onClose?: () => Promise<void>
  /** An operation with one argument, and how to run several of them, which wait at the same time, at once. */
  readonly together?: {
    readonly noun: Noun
    readonly name: string
    readonly run: (args: readonly unknown[]) => readonly Settled[]
  }
}

/** Runs in the thread that has the database: answers each operation when it is done and `confirm` has not thrown. Closes the database at the end. */
export function answerOperations(
  port: MessagePort,
  database: Database,
  operations: { readonly [Name in Noun]?: object },
  {
    admit = () => undefined,
    confirm = () => undefined,
    onClose = async () => undefined,
    together,
  }: AnswerOperationsOptions = {},
): void {
  let gone: AppError | undefined
  const startedAt = monotonicMilliseconds()

  /** Returns the time until which to work on it. On a busy machine a thread may take seconds to start; what waited for that is not late. */
  const deadlineOf = ({ deadline, askedAt }: Request): number => deadline + Math.max(0, startedAt - askedAt)

  const perform = (request: Request): unknown => {
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
  }

  const performTogether = (requests: readonly Request[]): readonly Settled[] => {
    const { run = () => [] } = together ?? {}
    const deadline = Math.min(...requests.map(deadlineOf))
    // Each is refused by itself if it must be.
    if (gone !== undefined || monotonicMilliseconds() >= deadline) return []
    try {
      database.waitForLockUntil(deadline)
      const settled = run(requests.map(({ args }) => args[0]))
      confirm()
      return settled
    } catch (error) {
      return requests.map(() => ({ error }))
    }
  }

  const failureOf = (error: unknown): Failure => {
    if (!(error instanceof AppError)) return { kind: 'defect', message: String((error as Error).stack) }
    if (error.code === storeErrors.gone.code) gone = error
    return { kind: error === gone ? 'gone' : 'unavailable', message: error.details.reason ?? error.message }
  }

  answerRequests(port, perform, {
    failureOf,
    async onClose() {
      await onClose()
      database.close()
    },
    ...(together && {
      together: {
        accepts: ({ noun, name }: Request) => noun === together.noun && name === together.name,
        work: performTogether,
      },
    }),
  })
}

const TOO_LATE = 'earlier operations took too long'
