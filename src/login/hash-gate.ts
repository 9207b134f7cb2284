import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import { traced } from '#src/lib/tracing.ts'
import { loginErrors } from './login.errors.ts'

/** Nobody gets this answer, and it says nothing about the load. */
export const clientGone: ErrorDefinition = {
  code: 'CLIENT_GONE',
  kind: 'unavailable',
  message: 'The client went away before its password was checked.',
}

export interface HashTask {
  /** Tasks of one group share a limit. */
  readonly group: string
  /** How many tasks of the group may run at once. */
  readonly groupLimit: number
  /** Whether it runs before others that wait. */
  readonly preferred: boolean
  /** Called before the work starts: none is done for a client that has disconnected. */
  readonly isAwaited: () => boolean
}

/** Limits concurrent hashing: a few tasks run, a few wait, the others are refused immediately. */
export interface HashGate {
  /** Throws LOGIN_OVERLOADED when too many wait, and CLIENT_GONE when nobody waits for the answer any more. */
  run<Result>(task: HashTask, work: () => Promise<Result>): Promise<Result>
  /** How many tasks wait. */
  waiting(): number
}

export interface HashGateOptions {
  readonly mostRunning: number
  /** Applies to preferred tasks and to others separately. */
  readonly mostWaiting: number
}

interface Waiting {
  readonly task: HashTask
  readonly start: () => void
}

export function createHashGate({ mostRunning, mostWaiting }: HashGateOptions): HashGate {
  const queues: Record<'preferred' | 'others', Waiting[]> = { preferred: [], others: [] }
  const groups = new Map<string, number>()
  let running = 0

  const mayRun = ({ group, groupLimit }: HashTask): boolean =>
    running < mostRunning && (groups.get(group) ?? 0) < groupLimit

  const startFrom = (queue: Waiting[]): boolean => {
    const index = queue.findIndex(({ task }) => mayRun(task))
    const [next] = index === -1 ? [] : queue.splice(index, 1)
    if (next === undefined) return false
    running++
    groups.set(next.task.group, (groups.get(next.task.group) ?? 0) + 1)
    next.start()
    return true
  }

  const startNext = (): void => {
    while (startFrom(queues.preferred) || startFrom(queues.others));
  }

  const finish = ({ group }: HashTask): void => {
    running--
    const left = (groups.get(group) ?? 1) - 1
    if (left === 0) groups.delete(group)
    else groups.set(group, left)
    startNext()
  }

  return {
    waiting: () => queues.preferred.length + queues.others.length,
    async run(task, work) {
      const queue = task.preferred ? queues.preferred : queues.others
      if (!mayRun(task) && queue.length >= mostWaiting) throw new AppError(loginErrors.overloaded)
      const { promise, resolve } = Promise.withResolvers<void>()
      queue.push({ task, start: resolve })
      startNext()
      await traced('hash queue', () => promise)
      try {
        if (!task.isAwaited()) throw new AppError(clientGone)
        return await work()
      } finally {
        finish(task)
      }
    },
  }
}
