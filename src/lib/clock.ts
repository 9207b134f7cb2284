/** Passed to rules, which never read the clock of the system. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970. */
  now(): number
  /** Milliseconds since an arbitrary moment. It never jumps, so it measures intervals. */
  monotonic(): number
}

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }

/** Calls back once after some milliseconds. Returns a function that prevents it. */
export type After = (milliseconds: number, work: () => void) => () => void

/** Timers that do not keep the process alive. */
export const systemTimers: After = (milliseconds, work) => {
  const timer = setTimeout(work, milliseconds).unref()
  return () => clearTimeout(timer)
}

/** Reads a clock that never jumps and that all threads share. `performance.now()` starts at zero in each thread. */
export function monotonicMilliseconds(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}

export const toSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000)

let lastMilliseconds = Number.NaN
let lastIso = ''

/** Formats as `YYYY-MM-DDTHH:MM:SS.mmmZ`. Caches one result, because under load many ask for the same millisecond. */
export function isoMilliseconds(milliseconds: number): string {
  if (milliseconds !== lastMilliseconds) {
    lastIso = new Date(milliseconds).toISOString()
    lastMilliseconds = milliseconds
  }
  return lastIso
}

export const isoOrNull = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : isoMilliseconds(milliseconds)

/** Formats as `YYYY-MM-DDTHH:MM:SSZ`, the form that the contract uses. */
export const isoSeconds = (seconds: number): string => `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`
