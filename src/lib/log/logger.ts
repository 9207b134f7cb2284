import { writeSync } from 'node:fs'
import { destination, pino } from 'pino'
import { isoMilliseconds, systemClock } from '../clock.ts'

/** Bytes buffered for a slow reader of stdout. Further lines are dropped; the service goes on. */
const MAX_BUFFERED = 8 * 1024 * 1024
/** Lines are written in groups: at this many characters, or after a tenth of a second. */
const WORTHWHILE = 16_000
const WITHIN_MILLISECONDS = 100
/** Retries of a blocked write, a tenth of a second apart. */
const MAX_TRIES = 10

/** What writes to the log; for those that know no Fastify. */
export type Log = Readonly<Record<'info' | 'warn' | 'error', (details: object, message: string) => void>>

/** Formats a JSON line for people. */
export type Prettify = (json: string) => string

/** Writes the log to stdout, as JSON unless it is prettified. No secret is ever handed to it, so none is redacted. */
export function createLog(level: string, prettify?: Prettify) {
  let triesLeft = Number.POSITIVE_INFINITY
  // Never synchronous: a terminal that nobody reads must not stop the service.
  const output = destination({ fd: 1, sync: false, maxLength: MAX_BUFFERED, retryEAGAIN: () => triesLeft-- > 0 })
  // A full disk under the log must not stop the service either.
  let broken = false
  output.on('error', () => {
    broken = true
  })
  output.on('write', () => {
    broken = false
  })

  // Each write makes the destination measure its whole buffer, so lines are joined first.
  let lines = ''
  let waiting = false
  const writeLines = (): void => {
    if (lines !== '') output.write(prettify ? lines.replace(/.+\n/g, prettify) : lines)
    lines = ''
  }
  const write = (line: string): void => {
    lines += line
    if (lines.length >= WORTHWHILE) writeLines()
    if (waiting) return
    waiting = true
    setTimeout(() => {
      waiting = false
      writeLines()
    }, WITHIN_MILLISECONDS).unref()
  }

  const timestamp = (): string => `,"time":"${isoMilliseconds(systemClock.now())}"`
  const logger = pino({ level, base: null, timestamp }, { write })
  const writesInfo = logger.isLevelEnabled('info')
  return {
    logger,
    /** Writes a whole JSON line of level info unchanged, which is cheaper than building it with pino. */
    writeInfo: (line: string) => {
      if (writesInfo) write(line)
    },
    /** Writes what is buffered. Await it before the process ends. */
    flush() {
      writeLines()
      return new Promise<void>((resolve) => output.flush(() => resolve()))
    },
    /** Writes as much as possible without waiting. Call it first in the handler of `exit`. */
    flushNow() {
      try {
        // By default the destination retries forever if the terminal is gone, the disk full or the reader stuck.
        writeSync(1, '')
        triesLeft = MAX_TRIES
        writeLines()
        if (!broken) output.flushSync()
      } catch {
        // Nothing can be reported without a log.
      }
      output.destroy()
    },
  }
}
