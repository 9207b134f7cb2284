import type { MessagePort } from 'node:worker_threads'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { Database } from '../database.ts'
import { monotonicMilliseconds } from '../monotonic.ts'

export type Operation = (...args: never[]) => unknown

export interface Request {
  readonly id: number
  /** An operation, or `close`. */
  readonly name: string
  readonly args: readonly unknown[]
  /** By `monotonicMilliseconds`: what cannot begin by then is not done. */
  readonly deadline: number
}

export interface Reply {
  readonly id: number
  readonly result?: unknown
  readonly error?: Failure
}

interface Failure {
  /** `unavailable`: the disk, a lock, a permission. `gone`: nothing that this process does with the store counts any more. */
  readonly kind: 'unavailable' | 'gone' | 'defect'
  readonly message: string
}

/** What a worker does: each message is one operation, answered when it is done and `confirm` has not thrown. */
export function answerMessages(
  port: MessagePort,
  database: Database,
  operations: object,
  confirm: () => void = () => undefined,
): void {
  const byName = new Map<string, unknown>(Object.entries(operations))
  let gone: AppError | undefined

  const perform = ({ name, args, deadline }: Request): unknown => {
    if (gone !== undefined) throw gone
    if (monotonicMilliseconds() >= deadline) throw new AppError(storeErrors.unavailable, { reason: TOO_LATE })
    database.waitForLockUntil(deadline)
    const operation = byName.get(name) as (...args: readonly unknown[]) => unknown
    const result = operation(...args)
    confirm()
    return result
  }

  port.on('message', (request: Request) => {
    const { id, name } = request
    try {
      if (name === 'close') {
        database.close()
        port.close()
      } else port.postMessage({ id, result: perform(request) } satisfies Reply)
    } catch (error) {
      if (isGone(error)) gone = error
      port.postMessage({ id, error: failureOf(error) } satisfies Reply)
    }
  })
}

const TOO_LATE = 'what came before kept it waiting for too long'

const isGone = (error: unknown): error is AppError => error instanceof AppError && error.code === storeErrors.gone.code

function failureOf(error: unknown): Failure {
  if (!(error instanceof AppError)) return { kind: 'defect', message: String((error as Error).stack) }
  return { kind: isGone(error) ? 'gone' : 'unavailable', message: error.details.reason ?? error.message }
}
