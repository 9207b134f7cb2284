import { type Check, failed, warning } from '#src/doctor/checks.ts'
import type { Clock } from '#src/lib/clock.ts'
import { sharedWork } from '#src/lib/shared-work.ts'

/** A run of all checks. */
export interface Examination {
  /** Rejects if the run ends before its last check. */
  readonly over: Promise<void>
  /** What was found so far. */
  found(): readonly Check[]
  /** The name of the check under way. */
  underWay(): string
  /** Ends the run as soon as possible. */
  stop(): void
}

export interface Report {
  readonly checkedAt: number
  readonly checks: readonly Check[]
}

interface ExaminerDependencies {
  readonly begin: () => Examination
  readonly clock: Clock
  /** Resolves after so many milliseconds, or when the signal is aborted. */
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<unknown>
}

const KEPT_MILLISECONDS = 30_000
const PATIENCE_MILLISECONDS = 10_000

/** Runs the checks at most once in 30 seconds, never twice at once, and after 10 seconds says how far they came. */
export function createExaminer({ begin, clock, wait }: ExaminerDependencies) {
  let last: (Report & { readonly doneAt: number }) | undefined
  let running: Examination | undefined

  const run = sharedWork(async (): Promise<Report> => {
    const examination = begin()
    running = examination
    const checkedAt = clock.now()
    const ended = new AbortController()
    const over = examination.over
      .then(
        () => [],
        (error: Error): Check[] => [failed(examination.underWay(), 'CHECK_BROKEN', { reason: error.message })],
      )
      .finally(() => {
        running = undefined
        ended.abort()
      })
    const late = wait(PATIENCE_MILLISECONDS, ended.signal).then((): Check[] | Promise<Check[]> => {
      if (ended.signal.aborted) return over
      examination.stop()
      return [warning(examination.underWay(), 'CHECK_TOO_LONG')]
    })
    const rest = await Promise.race([over, late])
    last = { checkedAt, checks: [...examination.found(), ...rest], doneAt: clock.monotonic() }
    return last
  })

  return {
    async report(): Promise<Report> {
      const isKept = last !== undefined && clock.monotonic() - last.doneAt < KEPT_MILLISECONDS
      // A run that was too late may not have ended yet.
      return last !== undefined && (isKept || running !== undefined) ? last : run()
    },
    close: () => running?.stop(),
  }
}
