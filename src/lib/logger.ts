import { writeSync } from 'node:fs'
import { destination, type Logger, pino } from 'pino'
import { isoMilliseconds, systemClock } from './clock.ts'

export interface ServiceLog {
  readonly logger: Logger
  /** Writes a whole JSON line of level info as it is, which costs a fifth of having pino make it. */
  writeInfo(line: string): void
  /** Writes out what is buffered; to be awaited before the process ends. */
  flush(): Promise<void>
  /** The same for a process that ends at once, as much as can be written: the first thing to do on its exit. */
  flushNow(): void
}

/** Bytes that may wait for a slow reader of stdout; beyond that they are dropped, never the service stopped. */
const MOST_BUFFERED = 8 * 1024 * 1024
/** Lines are written together: at once where there are this many characters, else within a tenth of a second. */
const WORTHWHILE = 16_000
const WITHIN_MILLISECONDS = 100
/** A tenth of a second each. */
const MOST_TRIES = 10

export interface LogForm {
  /** Makes readable lines of a JSON line; without it the log stays JSON. */
  readonly prettify?: ((json: string) => string) | undefined
  /** Writes each line at once, in the order of what else the process prints; a reader that stops would stop the process. */
  readonly sync?: boolean
}

/** Writes the log to stdout. No secret is ever handed to it, so none is redacted. */
export function createLog(level: string, { prettify, sync = false }: LogForm = {}): ServiceLog {
  let triesLeft = Number.POSITIVE_INFINITY
  const output = destination({ fd: 1, sync, maxLength: MOST_BUFFERED, retryEAGAIN: () => triesLeft-- > 0 })
  // A full disk under the log is no reason to stop either.
  let broken = false
  output.on('error', () => {
    broken = true
  })
  output.on('write', () => {
    broken = false
  })
  let lines = ''
  let waiting = false

  const handOver = (): void => {
    if (lines !== '') output.write(lines)
    lines = ''
  }
  // The destination measures all it holds with each write, so it is given few.
  const writeTogether = (line: string): void => {
    lines += line
    if (lines.length >= WORTHWHILE) handOver()
    if (waiting) return
    waiting = true
    setTimeout(() => {
      waiting = false
      handOver()
    }, WITHIN_MILLISECONDS).unref()
  }

  const write = prettify ? (line: string) => void output.write(prettify(line)) : writeTogether
  const timestamp = (): string => `,"time":"${isoMilliseconds(systemClock.now())}"`
  const logger = pino({ level, base: null, timestamp }, { write })
  const writesInfo = logger.isLevelEnabled('info')
  return {
    logger,
    writeInfo: (line) => {
      if (writesInfo) write(line)
    },
    flush() {
      handOver()
      return new Promise((resolve) => output.flush(() => resolve()))
    },
    flushNow() {
      try {
        // Left alone the destination tries for ever, where the terminal is gone, the disk full or the reader stuck.
        writeSync(1, '')
        triesLeft = MOST_TRIES
        handOver()
        if (!broken) output.flushSync()
      } catch {
        // Nobody is left to be told.
      }
      output.destroy()
    },
  }
}
