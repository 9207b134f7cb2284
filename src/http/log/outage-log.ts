import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '#src/lib/clock.ts'
import type { Store } from '#src/store/store.ts'

/** Logs one line when the store is lost and one when it is back, however many requests fail. */
export interface OutageLog {
  /** Must be called for every refusal. */
  note(errorCode: string, reason: string | undefined): void
  close(): void
}

const LOOK_EVERY_MILLISECONDS = 500

export function createOutageLog({ ping }: Pick<Store, 'ping'>, log: FastifyBaseLogger, clock: Clock): OutageLog {
  let lostAt: number | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const look = async (): Promise<void> => {
    const isBack = await ping().then(
      () => true,
      () => false,
    )
    if (closed) return
    if (!isBack) return lookLater()
    log.info({ seconds: Math.round((clock.monotonic() - (lostAt ?? 0)) / 100) / 10 }, 'store back')
    lostAt = undefined
  }

  const lookLater = (): void => {
    timer = setTimeout(look, LOOK_EVERY_MILLISECONDS).unref()
  }

  return {
    note(errorCode, reason) {
      if (errorCode !== 'STORE_UNAVAILABLE' || lostAt !== undefined) return
      lostAt = clock.monotonic()
      log.error({ reason }, 'store lost')
      lookLater()
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}
