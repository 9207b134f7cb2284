import type { FastifyBaseLogger } from 'fastify'

const QUIET_MILLISECONDS = 1000

/** Logs one line when overload refusals begin and one when they end, not one a request. */
export function createOverloadLog(log: FastifyBaseLogger): (errorCode: string) => void {
  let refused = 0
  let seen = 0

  const look = (timer: NodeJS.Timeout): void => {
    if (refused > seen) {
      seen = refused
      return
    }
    clearInterval(timer)
    log.info({ refused }, 'keeping up again')
    refused = 0
    seen = 0
  }

  return (errorCode) => {
    refused++
    if (refused > 1) return
    log.warn({ errorCode }, 'overloaded: excess requests get 503')
    const timer = setInterval(() => look(timer), QUIET_MILLISECONDS).unref()
  }
}
