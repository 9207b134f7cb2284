import { destination, type Logger, pino } from 'pino'
import { isoMilliseconds, systemClock } from './clock.ts'

export interface BufferedLogger {
  readonly logger: Logger
  /** Writes out what is buffered; to be called before the process ends. */
  flush(): void
}

/** JSON lines on stdout, written together where many come at once. No secret is ever handed to it, so none is redacted. */
export function createLogger(level: string): BufferedLogger {
  const output = destination({ fd: 1, sync: true, minLength: 16_000, periodicFlush: 100 })
  const timestamp = (): string => `,"time":"${isoMilliseconds(systemClock.now())}"`
  return { logger: pino({ level, base: null, timestamp }, output), flush: () => output.flushSync() }
}
