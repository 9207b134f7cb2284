import { readFileSync } from 'node:fs'
import type { Variables } from '#src/config/load-config.ts'
import { systemClock } from '#src/lib/clock.ts'

/** The scripts of `npm start` and `npx teslim serve`. Any other script may start a server that outlives npm on purpose. */
const SCRIPT = /^(?:node bin\/teslim\.js serve|'?teslim'?(?: serve)?)$/
const POLL_MILLISECONDS = 500
/** One hang-up reaches the server and npm in either order. */
const IN_EITHER_ORDER_MILLISECONDS = 100
/** Longer than it takes to see that a hang-up has ended npm. */
const SAME_HANG_UP_MILLISECONDS = 2_000

export type HasEnded = () => boolean

/**
 * Returns a function that says whether npm has ended, if npm started this process in the foreground. npm may pass a signal to its shell
 * only, and a kill to nobody. Call it early: once its parent has ended, a process has another one.
 */
export function npmHasEnded({ npm_lifecycle_script: script = '' }: Variables): HasEnded | undefined {
  if (!SCRIPT.test(script)) return undefined
  const { ppid } = process
  // A shell may have replaced itself by this process: then the parent is npm.
  const npm = isShell(ppid, script) ? parentOf(ppid) : undefined
  return () => process.ppid !== ppid || !exists(ppid) || (npm !== undefined && parentOf(ppid) !== npm)
}

/**
 * Calls back if npm ends before this process gets a signal to end. With `nohup npm start` a hang-up ends npm alone, and the server goes on:
 * Node resets the signals that nohup ignores.
 */
export function whenNpmEnds(hasEnded: HasEnded | undefined, end: () => void): void {
  if (hasEnded === undefined) return
  let hungUpAt = Number.NEGATIVE_INFINITY
  process.on('SIGHUP', () => {
    hungUpAt = systemClock.monotonic()
  })
  const endUnlessHungUp = (): void => {
    if (systemClock.monotonic() - hungUpAt > SAME_HANG_UP_MILLISECONDS) end()
  }
  const polling = setInterval(() => {
    const isOver: boolean = hasEnded()
    if (!isOver) return
    clearInterval(polling)
    setTimeout(endUnlessHungUp, IN_EITHER_ORDER_MILLISECONDS).unref()
  }, POLL_MILLISECONDS).unref()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => clearInterval(polling))
}

/** Whether a process is the shell that npm started for a script. Only Linux needs this: the shells of BSD and macOS replace themselves. */
function isShell(pid: number, script: string): boolean {
  return read(`/proc/${pid}/cmdline`)
    .split('\0')
    .some((argument) => argument.startsWith(script))
}

const parentOf = (pid: number): string | undefined => / \(.*\) \S (\d+) /s.exec(read(`/proc/${pid}/stat`))?.[1]

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** On Windows the parent stays the same after its end; npm's shell ends there with npm. */
function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
