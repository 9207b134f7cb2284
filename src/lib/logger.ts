import { destination, type Logger, pino } from 'pino'
import { isoMilliseconds, systemClock } from './clock.ts'

export interface ServiceLog {
  readonly logger: Logger
  /** Writes a whole JSON line of level info as it is, which costs a fifth of having pino make it. */
  writeInfo(line: string): void
  /** Writes out what is buffered; to be called before the process ends. */
  flush(): void
}

/** JSON lines on stdout, written together where many come at once. No secret is ever handed to it, so none is redacted. */
export function createLog(level: string): ServiceLog {
  const output = destination({ fd: 1, sync: true, minLength: 16_000, periodicFlush: 100 })
  const timestamp = (): string => `,"time":"${isoMilliseconds(systemClock.now())}"`
  const logger = pino({ level, base: null, timestamp }, output)
  const writesInfo = logger.isLevelEnabled('info')
  return {
    logger,
    writeInfo: (line) => {
      if (writesInfo) output.write(line)
    },
    flush: () => output.flushSync(),
  }
}
