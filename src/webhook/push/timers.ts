/** Calls back once after some milliseconds. Returns a function that prevents it. */
export type After = (milliseconds: number, work: () => void) => () => void

/** Timers that do not keep the process alive. */
export const systemTimers: After = (milliseconds, work) => {
  const timer = setTimeout(work, milliseconds).unref()
  return () => clearTimeout(timer)
}
