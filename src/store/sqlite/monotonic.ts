/** Reads a clock that never jumps and that all threads share; the clock of `performance` begins with each thread. */
export function monotonicMilliseconds(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}
