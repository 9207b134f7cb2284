import { AppError } from '#src/lib/app-error.ts'
import { loginErrors } from './login.errors.ts'

export interface Visitor {
  /** Groups visitors that share a limit. */
  readonly lane: string
  /** How many visitors of the lane may be inside at once. */
  readonly laneWidth: number
  /** Whether it is let in before others. */
  readonly preferred: boolean
  /** Asked when it is let in. A client that has disconnected is not served. */
  readonly isAwaited: () => boolean
}

/** Limits hashing: a few visitors are inside at a time, a few may wait, and the others are refused at once. */
export interface HashGate {
  /** Throws LOGIN_OVERLOADED when too many wait. */
  run<Result>(visitor: Visitor, work: () => Promise<Result>): Promise<Result>
}

export interface HashGateOptions {
  readonly mostInside: number
  /** For preferred visitors and for others, each. */
  readonly mostWaiting: number
}

interface Waiting {
  readonly visitor: Visitor
  readonly enter: () => void
}

export function createHashGate({ mostInside, mostWaiting }: HashGateOptions): HashGate {
  const queues: Record<'preferred' | 'others', Waiting[]> = { preferred: [], others: [] }
  const lanes = new Map<string, number>()
  let inside = 0

  const isOpen = ({ lane, laneWidth }: Visitor): boolean => inside < mostInside && (lanes.get(lane) ?? 0) < laneWidth

  const letInFrom = (queue: Waiting[]): boolean => {
    const index = queue.findIndex(({ visitor }) => isOpen(visitor))
    const [next] = index === -1 ? [] : queue.splice(index, 1)
    if (next === undefined) return false
    inside++
    lanes.set(next.visitor.lane, (lanes.get(next.visitor.lane) ?? 0) + 1)
    next.enter()
    return true
  }

  const letIn = (): void => {
    while (letInFrom(queues.preferred) || letInFrom(queues.others));
  }

  const leave = ({ lane }: Visitor): void => {
    inside--
    const others = (lanes.get(lane) ?? 1) - 1
    if (others === 0) lanes.delete(lane)
    else lanes.set(lane, others)
    letIn()
  }

  return {
    async run(visitor, work) {
      const queue = visitor.preferred ? queues.preferred : queues.others
      if (!isOpen(visitor) && queue.length >= mostWaiting) throw new AppError(loginErrors.overloaded)
      const { promise, resolve } = Promise.withResolvers<void>()
      queue.push({ visitor, enter: resolve })
      letIn()
      await promise
      try {
        if (!visitor.isAwaited()) throw new AppError(loginErrors.overloaded, { reason: 'the client went away' })
        return await work()
      } finally {
        leave(visitor)
      }
    },
  }
}
