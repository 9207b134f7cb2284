import { Worker } from 'node:worker_threads'
import { AppError } from '#src/lib/app-error.ts'
import type { HashReply, HashRequest } from './hash-worker.ts'
import { loginErrors } from './login.errors.ts'
import type { Passwords } from './login.rule.ts'

export interface HashWorkers extends Pick<Passwords, 'hash' | 'verify'> {
  close(): Promise<void>
}

interface Job {
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

interface Place {
  worker: Worker | undefined
  readonly jobs: Map<number, Job>
}

/**
 * Argon2 in threads of its own, at a lower priority than the rest of the service, so that a storm of logins takes only the
 * time that deliveries leave. Each starts with its first work. When one dies, what it had fails and the next work starts another.
 */
export function createHashWorkers(count: number): HashWorkers {
  const places: Place[] = Array.from({ length: count }, () => ({ worker: undefined, jobs: new Map() }))
  let nextId = 0

  const start = (place: Place): Worker => {
    const worker = new Worker(new URL('./hash-worker.ts', import.meta.url))
    const bury = (cause: unknown): void => {
      if (place.worker !== worker) return
      place.worker = undefined
      for (const { reject } of place.jobs.values()) {
        reject(new AppError(loginErrors.overloaded, { reason: 'the thread that hashes died', cause }))
      }
      place.jobs.clear()
    }
    worker.on('message', ({ id, result, error }: HashReply) => {
      const job = place.jobs.get(id)
      place.jobs.delete(id)
      if (error === undefined) job?.resolve(result as never)
      else job?.reject(new Error(`hashing failed: ${error}`))
    })
    worker.on('error', bury)
    worker.on('exit', (code) => bury(new Error(`the thread that hashes ended with ${code}`)))
    return worker
  }

  const run = <Result>(work: Omit<HashRequest, 'id'>): Promise<Result> => {
    const place = places.reduce((least, other) => (other.jobs.size < least.jobs.size ? other : least))
    const request = { ...work, id: nextId++ }
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    place.jobs.set(request.id, { resolve, reject })
    place.worker ??= start(place)
    place.worker.postMessage(request)
    return promise
  }

  return {
    hash: (password) => run({ password }),
    verify: (passwordHash, password) => run({ passwordHash, password }),
    close: async () => void (await Promise.all(places.map(({ worker }) => worker?.terminate()))),
  }
}
