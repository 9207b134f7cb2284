import type { FastifyInstance } from 'fastify'
import { AppError } from '#src/lib/app-error.ts'
import type { Store } from '#src/store/store.ts'
import { httpErrors } from '../http.errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly readiness: Readiness
  }
}

export interface Readiness {
  /** Resolves if a delivery could be stored now; else rejects with what is missing. */
  check(): Promise<void>
  /** Makes every later check fail, because this process is about to end. */
  leave(): void
}

export function installReadiness(app: FastifyInstance, { ping }: Pick<Store, 'ping'>): void {
  let leaving = false
  app.decorate('readiness', {
    async check() {
      if (leaving) throw new AppError(httpErrors.stopping)
      await ping()
    },
    leave() {
      leaving = true
    },
  })
}
