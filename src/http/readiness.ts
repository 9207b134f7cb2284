import type { FastifyInstance } from 'fastify'
import { AppError } from '#src/lib/app-error.ts'
import type { Store } from '#src/store/store.ts'
import { httpErrors } from './http.errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly readiness: ReturnType<typeof installReadiness>
  }
}

interface Condition {
  readonly refusal: AppError
  /** Whether it held at the last check, and nothing has changed since. */
  holds(): boolean
  /** Takes two seconds at most. */
  check(): Promise<boolean>
}

/** `missing` is what requests get while there is no store; undefined if there is one. */
export function installReadiness(app: FastifyInstance, { ping }: Pick<Store, 'ping'>, missing: AppError | undefined) {
  let failing = false
  let isOpen = missing === undefined
  const works: (() => unknown)[] = []
  let condition: Condition | undefined

  app.addHook('onRequest', (request, _reply, done) => {
    // First, because Fastify makes an object whenever the options of a route are read.
    if (isOpen && (condition === undefined || condition.holds())) return done()
    if (request.routeOptions.config.answeredAlways) return done()
    if (!isOpen) throw missing
    if (condition === undefined) return done()
    const { refusal: unmet } = condition
    condition.check().then((holds) => done(holds ? undefined : unmet), done)
  })

  const readiness = {
    /** Resolves if a delivery could be stored now; else rejects with what is missing. Takes two seconds at most. */
    async check(): Promise<void> {
      if (failing) throw new AppError(httpErrors.stopping)
      if (!isOpen) throw missing
      const checking = condition?.check()
      const refuse = (holds: boolean | undefined): void => {
        if (condition !== undefined && !holds) throw condition.refusal
      }
      // Where the store fails, `ping` knows better why.
      await Promise.all([ping(), checking?.then(refuse, () => undefined)])
      refuse(await checking)
    },
    /** Makes every later check fail, because this process is about to end. */
    fail(): void {
      failing = true
    },
    /** Whether there is a store. */
    isOpen: (): boolean => isOpen,
    /** Does work that needs the store: before the server is ready, or when a store that was missing is opened. */
    onceOpen(work: () => unknown): void {
      if (isOpen) app.addHook('onReady', async () => void (await work()))
      else works.push(work)
    },
    /** Called when the store that was missing is open. Requests are answered from then on. */
    async open(): Promise<void> {
      for (const work of works.splice(0)) if (!failing) await work()
      isOpen = true
    },
    /** Refuses all requests, as while the store is missing, until the condition holds. */
    need(wanted: Condition): void {
      condition = wanted
    },
  }
  app.decorate('readiness', readiness)
  return readiness
}
