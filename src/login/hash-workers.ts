import { Worker } from 'node:worker_threads'
import { AppError } from '#src/lib/app-error.ts'
import { traced } from '#src/lib/tracing.ts'
import { createWorkerClient } from '#src/lib/worker/client.ts'
import type { HashRequest } from './hash-worker.ts'
import { loginErrors } from './login.errors.ts'
import type { Passwords } from './login.rule.ts'

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
      spawn: () => new Worker(new URL('./hash-worker.ts', import.meta.url), { name: 'hash' }),
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
