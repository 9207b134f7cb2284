import { availableParallelism } from 'node:os'
import { hash, parseOptions, verify } from '@node-rs/argon2'
import { AppError } from '#src/lib/app-error.ts'
import { startThread } from '#src/lib/program-files.ts'
import { systemRandom } from '#src/lib/random.ts'
import { traced } from '#src/lib/tracing.ts'
import { createWorkerClient, QUIET_MILLISECONDS } from '#src/lib/worker/client.ts'
import { clientGone, loginErrors } from './login.errors.ts'

/** Argon2id: 2 is its number in the library, whose `const enum` type stripping cannot read. */
export const ARGON2 = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

const NAMES = Object.keys(ARGON2) as (keyof typeof ARGON2)[]
const phcPart = (bytes: number): string => Buffer.from(systemRandom(bytes)).toString('base64').replace(/=+$/, '')

export type Passwords = Readonly<typeof passwords>

/** Makes and verifies PHC strings off the event loop. A server does both in the threads of `createHashWorkers`. */
export const passwords = {
  hash: (password: string): Promise<string> => hash(password, ARGON2),
  verify: (passwordHash: string, password: string): Promise<boolean> => verify(passwordHash, password),
  isOutdated(passwordHash: string): boolean {
    const made = parseOptions(passwordHash)
    return NAMES.some((name) => made[name] !== ARGON2[name])
  },
  /** A hash with the current parameters that matches no known password. */
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
      idleMilliseconds: QUIET_MILLISECONDS,
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
export type HashQueue = ReturnType<typeof createHashQueue>

interface Run {
  readonly key: string
  readonly awaitedBy: HashTask['isAwaited'][]
  readonly turn: PromiseWithResolvers<void>
  readonly result: Promise<boolean>
}

/** `maxWaiting` applies to preferred runs and to others separately. */
export function createHashQueue({ maxRunning, maxWaiting }: { maxRunning: number; maxWaiting: number }) {
  const preferred: Run[] = []
  const others: Run[] = []
  const runs = new Map<string, Run>()
  let running = 0

  const startNext = (): void => {
    while (running < maxRunning) {
      const next = preferred.shift() ?? others.shift()
      if (next === undefined) return
      if (next.awaitedBy.some((isAwaited) => isAwaited())) {
        running++
        next.turn.resolve()
      } else {
        // At once: a client that sends the same from now on is connected, and must not share the rejection.
        runs.delete(next.key)
        next.turn.reject(new AppError(clientGone))
      }
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
    /** How many runs wait. */
    waiting: () => preferred.length + others.length,
    /** Throws LOGIN_OVERLOADED when too many wait, and CLIENT_GONE when nobody waits for the answer any more. */
    async run({ key, isPreferred, isAwaited }: HashTask, work: () => Promise<boolean>) {
      const shared = runs.get(key)
      if (shared !== undefined) {
        shared.awaitedBy.push(isAwaited)
        return shared.result
      }
      const queue = isPreferred ? preferred : others
      if (running >= maxRunning && queue.length >= maxWaiting) throw new AppError(loginErrors.overloaded)
      const turn = Promise.withResolvers<void>()
      const run = { key, awaitedBy: [isAwaited], turn, result: runInTurn(turn.promise, key, work) }
      runs.set(key, run)
      queue.push(run)
      startNext()
      return run.result
    },
  }
}

/** What a server hashes and verifies passwords with, and the queue in which logins wait for it. */
export interface Hashing extends HashWorkers {
  readonly queue: HashQueue
}

/** One core is left to the thread that serves requests. */
const MAX_THREADS = Math.max(1, availableParallelism() - 1)
/** Logins beyond the number of threads: they are counted in the store while others are hashed. */
const COUNTING_MEANWHILE = 2
/** With one thread the last of them waits about a second. Later ones are refused at once, since their clients would give up. */
const MAX_WAITING = 32

export const createHashing = (): Hashing => ({
  ...createHashWorkers(MAX_THREADS),
  queue: createHashQueue({ maxRunning: MAX_THREADS + COUNTING_MEANWHILE, maxWaiting: MAX_WAITING }),
})
