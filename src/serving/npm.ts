import { readFileSync } from 'node:fs'
import type { Variables } from '#src/config/load-config.ts'
import { systemClock } from '#src/lib/clock.ts'

/** The scripts of `npm start` and `npx teslim serve`. Any other script may start a server that outlives npm on purpose. */
const SCRIPT = /^(?:node bin\/teslim\.js serve|'?teslim'?(?: serve)?)$/
const LOOK_EVERY_MILLISECONDS = 500
/** One hang-up reaches the server and npm in either order. */
const IN_EITHER_ORDER_MILLISECONDS = 100
/** Longer than it takes to see that a hang-up has ended npm. */
const SAME_HANG_UP_MILLISECONDS = 2_000

export type HasEnded = () => boolean

/**
 * Returns a function that says whether npm has ended, if npm started this process in the foreground. npm may pass a signal to its shell
 * only, and a kill to nobody. To be called early: the parent of a process whose parent has ended is another one.
 */
export function npmHasEnded({ npm_lifecycle_script: script = '' }: Variables): HasEnded | undefined {
  if (!SCRIPT.test(script)) return undefined
  const { ppid } = process
  // A shell may have replaced itself by this process: then the parent is npm.
  const npm = isShell(ppid, script) ? parentOf(ppid) : undefined
  return () => process.ppid !== ppid || !exists(ppid) || (npm !== undefined && parentOf(ppid) !== npm)
}

/**
 * Calls back when npm has ended before this process got a signal to end. A hang-up that ends npm and not this process comes from `nohup npm
 * start`: Node resets the signals that nohup lets a process ignore.
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
  const looking = setInterval(() => {
    const isOver: boolean = hasEnded()
    if (!isOver) return
    clearInterval(looking)
    setTimeout(endUnlessHungUp, IN_EITHER_ORDER_MILLISECONDS).unref()
  }, LOOK_EVERY_MILLISECONDS).unref()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => clearInterval(looking))
}

/** Whether a process is the shell that npm started for a script. Only Linux says so; the shells of BSD and macOS replace themselves. */
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
