import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url))
/** What the tests start instead of the checkout: an executable, or `bin/teslim.js` of a package. */
const UNDER_TEST = process.env.TESLIM_UNDER_TEST

export interface Outcome {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly cwd: string
  readonly env?: Record<string, string>
  readonly stdin?: string | Buffer
  /** Options of Node itself. */
  readonly node?: readonly string[]
  /** A command that runs what comes after it as itself, such as `strace -D`. */
  readonly through?: readonly string[]
  /** The folder of another version, to run that one. */
  readonly checkout?: string
  /** What is started, if not what all tests start: an executable, or `bin/teslim.js` of a package. */
  readonly program?: string | undefined
  /** The account it runs as, if not ours. */
  readonly identity?: { readonly uid?: number; readonly gid?: number }
}

/** The environment of a fresh machine: nothing of the one that runs the tests. */
const cleanEnvironment = (env: Record<string, string> = {}) => ({ PATH: process.env.PATH ?? '', ...env })

type Program = Pick<RunOptions, 'node' | 'checkout' | 'program'>

/** Returns the words of a shell that start teslim. */
export function teslimCommand({
  node = [],
  checkout,
  program = checkout ? undefined : UNDER_TEST,
}: Program = {}): string[] {
  const main = program ?? join(checkout ?? CHECKOUT, 'bin/teslim.js')
  return main.endsWith('.js') ? [process.execPath, ...node, main] : [main]
}

/** Returns what a shell runs as `teslim ARGS`. */
export const shellCommand = (...args: string[]): string =>
  [...teslimCommand(), ...args].map((word) => `'${word}'`).join(' ')

/** Starts `teslim ARGS`; whoever does ends it. */
export function startProcess(args: readonly string[], options: RunOptions) {
  const { cwd, env, through = [], identity } = options
  const [command = '', ...rest] = [...through, ...teslimCommand(options), ...args]
  return spawn(command, rest, { cwd, env: cleanEnvironment(env), ...identity })
}

/** Runs `teslim ARGS` as a process of its own, to its end. */
export async function teslim(args: readonly string[], { stdin = '', ...options }: RunOptions): Promise<Outcome> {
  const child = startProcess(args, options)
  // It may end before it has read everything.
  child.stdin.on('error', () => undefined)
  child.stdin.end(stdin)
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { status, stdout, stderr }
}

export interface ServerProcess {
  readonly url: string
  readonly child: ChildProcess
  output(): string
  /** Waits until what was printed matches; with `from` only what was printed after so many characters. */
  printed(pattern: RegExp, from?: number): Promise<RegExpExecArray>
  /** The exit status, once it has ended. */
  readonly ended: Promise<number | null>
}

/** Starts `teslim serve` on any free port; killed when the test is over, if it still runs. */
export const serve = (options: RunOptions): Promise<ServerProcess> => startServer(options, onTestFinished)

/** Starts `teslim serve` on any free port. With `afterAll` as `atTheEnd`, all tests of a file can share it. */
export async function startServer(options: RunOptions, atTheEnd: (kill: () => void) => void): Promise<ServerProcess> {
  const child = startProcess(['serve'], { ...options, env: { PORT: '0', TESLIM_OPS_PORT: '0', ...options.env } })
  atTheEnd(() => void child.kill('SIGKILL'))
  let printed = ''
  const watchers = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk
      for (const look of watchers) look()
    })
  }
  const ended = once(child, 'close').then(([status]) => status as number | null)

  const waitFor = (pattern: RegExp, from = 0): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(printed.slice(from))
        if (match === null) return
        watchers.delete(look)
        resolve(match)
      }
      watchers.add(look)
      look()
      void ended.then((status) => reject(new Error(`ended with ${status} before ${pattern} was printed:\n${printed}`)))
    })

  const [, url = ''] = await waitFor(/listening on (https?:[^"]+)"/)
  return { url, child, ended, output: () => printed, printed: waitFor }
}

export interface SandboxServer {
  readonly server: ServerProcess
  readonly email: string
  readonly password: string
  readonly apiKey: string
}

/** Serves an empty store, and gives the credentials that are printed once. Killed at the end of the test, or with `afterAll` of the file. */
export async function serveSandbox(options: RunOptions, atTheEnd = onTestFinished): Promise<SandboxServer> {
  const server = await startServer(options, atTheEnd)
  const credentials = /e-mail +(\S+)\s+password +(\S+)\s+ApiKey +(\S+)\s/
  const [, email = '', password = '', apiKey = ''] = await server.printed(credentials)
  return { server, email, password, apiKey }
}
