/** Work in the background that is done again and again, never twice at once. */
export type Repeated = ReturnType<typeof every>

export interface RepeatedOptions {
  readonly firstMilliseconds: number
  /** Does one step. Resolves to the milliseconds until the next one, or to undefined to pause until `start` is called again. */
  readonly work: () => Promise<number | undefined>
  /** Returns the milliseconds until the next step. `inARow` counts the failures since the last success. */
  readonly onFailed: (error: unknown, inARow: number) => number
}

/** Its timers keep no process alive. */
export function every({ firstMilliseconds, work, onFailed }: RepeatedOptions) {
  let timer: NodeJS.Timeout | undefined
  let working: Promise<void> | undefined
  let failures = 0
  /** Whether `start` was called since the last step began: what it was called for may have come too late for that step. */
  let isWanted = false
  let isStopped = false

  const step = async (): Promise<void> => {
    isWanted = false
    let pause: number | undefined
    try {
      pause = await work()
      failures = 0
    } catch (error) {
      failures++
      pause = onFailed(error, failures)
    }
    timer = undefined
    const next = pause ?? (isWanted ? firstMilliseconds : undefined)
    if (next !== undefined && !isStopped) after(next)
  }
  const after = (milliseconds: number): void => {
    timer ??= setTimeout(() => {
      working = step()
    }, milliseconds).unref()
  }

  return {
    /** Begins after the first pause. Does nothing more if it has begun already. */
    start() {
      isWanted = true
      if (!isStopped) after(firstMilliseconds)
    },
    /** Begins no further step; resolves once the one under way is over. */
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await working
    },
  }
}
