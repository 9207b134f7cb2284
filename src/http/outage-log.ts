import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '#src/lib/clock.ts'
import type { Store } from '#src/store/store.ts'

/** One line when the store is lost and one when it is back, and the same for overload, however many requests suffer. */
export interface OutageLog {
  /** To be told of every refusal. */
  note(errorCode: string, reason: string | undefined): void
  close(): void
}

const LOOK_EVERY_MILLISECONDS = 500
/** Without a refusal for as long, the load is what can be done again. */
const CALM_MILLISECONDS = 2000

export function createOutageLog({ ping }: Pick<Store, 'ping'>, log: FastifyBaseLogger, clock: Clock): OutageLog {
  let lostAt: number | undefined
  let overloadedAt: number | undefined
  let lastRefusalAt = 0
  let timer: NodeJS.Timeout | undefined

  const secondsSince = (start: number): number => Math.round((clock.monotonic() - start) / 100) / 10

  const look = async (): Promise<void> => {
    if (lostAt !== undefined && (await isBack())) {
      log.info({ seconds: secondsSince(lostAt) }, 'store back')
      lostAt = undefined
    }
    if (overloadedAt !== undefined && clock.monotonic() - lastRefusalAt >= CALM_MILLISECONDS) {
      log.info({ seconds: secondsSince(overloadedAt) }, 'keeping up again')
      overloadedAt = undefined
    }
    timer = undefined
    lookLater()
  }

  const isBack = (): Promise<boolean> =>
    ping().then(
      () => true,
      () => false,
    )

  const lookLater = (): void => {
    if (lostAt !== undefined || overloadedAt !== undefined) timer ??= setTimeout(look, LOOK_EVERY_MILLISECONDS).unref()
  }

  return {
    note(errorCode, reason) {
      if (errorCode === 'STORE_UNAVAILABLE' && lostAt === undefined) {
        lostAt = clock.monotonic()
        log.error({ reason }, 'store lost')
      } else if (errorCode === 'STORE_OVERLOADED') {
        lastRefusalAt = clock.monotonic()
        if (overloadedAt === undefined) log.warn('overloaded')
        overloadedAt ??= lastRefusalAt
      }
      lookLater()
    },
    close: () => clearTimeout(timer),
  }
}
