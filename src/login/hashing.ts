import { hash, parseOptions, verify } from '@node-rs/argon2'
import { AppError } from '#src/lib/app-error.ts'
import { startThread } from '#src/lib/program-files.ts'
import { systemRandom } from '#src/lib/random.ts'
import { traced } from '#src/lib/tracing.ts'
import { createWorkerClient } from '#src/lib/worker/client.ts'
import { clientGone, loginErrors } from './login.errors.ts'

export interface Passwords {
  hash(password: string): Promise<string>
  verify(passwordHash: string, password: string): Promise<boolean>
  isOutdated(passwordHash: string): boolean
  /** A hash with the current parameters that matches no known password. */
  readonly unmatched: string
}

/** Argon2id: 2 is its number in the library, whose `const enum` type stripping cannot read. */
export const ARGON2 = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

const phcPart = (bytes: number): string => Buffer.from(systemRandom(bytes)).toString('base64').replace(/=+$/, '')
const NAMES = Object.keys(ARGON2) as (keyof typeof ARGON2)[]

/** Makes and verifies PHC strings off the event loop. A server does both in the threads of `createHashWorkers`. */
export const passwords: Passwords = {
  hash: (password) => hash(password, ARGON2),
  verify: (passwordHash, password) => verify(passwordHash, password),
  isOutdated(passwordHash) {
    const made = parseOptions(passwordHash)
    return NAMES.some((name) => made[name] !== ARGON2[name])
  },
  unmatched: `$argon2id$v=19$m=${ARGON2.memoryCost},t=${ARGON2.timeCost},p=${ARGON2.parallelism}$${phcPart(16)}$${phcPart(32)}`,
}

/** What a hashing thread is asked. */
export interface HashRequest {
  readonly password: string
  /** The hash to verify the password against. Without it the password is hashed. */
  readonly passwordHash?: string
}

export interface HashWorkers extends Pick<Passwords, 'hash' | 'verify'> {
  close(): Promise<void>
}

const IDLE_MILLISECONDS = 60_000

/**
 * Runs Argon2 in threads of its own, at a lower priority than the rest of the service, so that many logins at once take
 * only the processor time that deliveries leave.
 */
export function createHashWorkers(count: number): HashWorkers {
  const workers = Array.from({ length: count }, () =>
    createWorkerClient<HashRequest, string>({
      name: 'the hashing thread',
      spawn: () => startThread('login/hash-worker', { name: 'hash' }),
      onDeath: (cause) => new AppError(loginErrors.overloaded, { reason: cause.message, cause }),
      onFailure: (message) => new Error(`hashing failed: ${message}`),
      idleMilliseconds: IDLE_MILLISECONDS,
    }),
  )
  const leastBusy = () => workers.reduce((least, other) => (other.underWay() < least.underWay() ? other : least))

  return {
    hash: (password) => leastBusy().ask({ password }),
    verify: (passwordHash, password) => traced('hash', () => leastBusy().ask({ passwordHash, password })),
    close: async () => void (await Promise.all(workers.map((worker) => worker.terminate()))),
  }
}

export interface HashTask {
  /** Tasks with the same key share one run of the work while it waits or runs. */
  readonly key: string
  /** Whether it runs before others that wait. */
  readonly isPreferred: boolean
  /** Whether the client is still connected. Nothing runs if no client that shares the run is. */
  readonly isAwaited: () => boolean
}

/** Limits concurrent hashing: a few runs go on, a few wait, others are refused immediately. */
export interface HashQueue {
  /** Throws LOGIN_OVERLOADED when too many wait, and CLIENT_GONE when nobody waits for the answer any more. */
  run(task: HashTask, work: () => Promise<boolean>): Promise<boolean>
  /** How many runs wait. */
  waiting(): number
}

export interface HashQueueOptions {
  readonly maxRunning: number
  /** Applies to preferred runs and to others separately. */
  readonly maxWaiting: number
}

interface Run {
  readonly awaitedBy: HashTask['isAwaited'][]
  readonly result: Promise<boolean>
}

export function createHashQueue({ maxRunning, maxWaiting }: HashQueueOptions): HashQueue {
  const preferred: (() => void)[] = []
  const others: (() => void)[] = []
  const runs = new Map<string, Run>()
  let running = 0

  const startNext = (): void => {
    while (running < maxRunning) {
      const start = preferred.shift() ?? others.shift()
      if (start === undefined) return
      start()
    }
  }

  const runInTurn = async (turn: Promise<void>, key: string, work: () => Promise<boolean>): Promise<boolean> => {
    await traced('hash queue', () => turn)
    try {
      return await work()
    } finally {
      running--
      runs.delete(key)
      startNext()
    }
  }

  return {
    waiting: () => preferred.length + others.length,
    async run({ key, isPreferred, isAwaited }, work) {
      const shared = runs.get(key)
      if (shared !== undefined) {
        shared.awaitedBy.push(isAwaited)
        return shared.result
      }
      const queue = isPreferred ? preferred : others
      if (running >= maxRunning && queue.length >= maxWaiting) throw new AppError(loginErrors.overloaded)
      const { promise: turn, resolve, reject } = Promise.withResolvers<void>()
      const awaitedBy = [isAwaited]
      const result = runInTurn(turn, key, work)
      runs.set(key, { awaitedBy, result })
      queue.push(() => {
        if (awaitedBy.some((isStillAwaited) => isStillAwaited())) {
          running++
          resolve()
        } else {
          // At once: a client that sends the same from now on is connected, and must not share the rejection.
          runs.delete(key)
          reject(new AppError(clientGone))
        }
      })
      startNext()
      return result
    },
  }
}
