import { destination, type Logger, pino } from 'pino'
import { isoMilliseconds, systemClock } from './clock.ts'

export interface ServiceLog {
  readonly logger: Logger
  /** Writes a whole JSON line of level info as it is, which costs a fifth of having pino make it. */
  writeInfo(line: string): void
  /** Writes out what is buffered; to be awaited before the process ends. */
  flush(): Promise<void>
  /** The same for a process that ends at once: as much as can be written. */
  flushNow(): void
}

/** Lines that may wait for a slow reader of stdout, in bytes; beyond that they are dropped, never the service stopped. */
const MOST_BUFFERED = 8 * 1024 * 1024

/** JSON lines on stdout, written together where many come at once. No secret is ever handed to it, so none is redacted. */
export function createLog(level: string): ServiceLog {
  const output = destination({ fd: 1, sync: false, minLength: 16_000, maxLength: MOST_BUFFERED, periodicFlush: 100 })
  // A full disk under the log is no reason to stop either.
  output.on('error', () => undefined)
  const timestamp = (): string => `,"time":"${isoMilliseconds(systemClock.now())}"`
  const logger = pino({ level, base: null, timestamp }, output)
  const writesInfo = logger.isLevelEnabled('info')
  return {
    logger,
    writeInfo: (line) => {
      if (writesInfo) output.write(line)
    },
    flush: () => new Promise((resolve) => output.flush(() => resolve())),
    flushNow() {
      try {
        output.flushSync()
      } catch {
        // Nobody is left to be told.
      }
    },
  }
}
