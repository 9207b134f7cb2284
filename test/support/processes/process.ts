import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { inject } from 'vitest'
import { atTheEnd } from '../at-the-end.ts'

/** The program of the checkout, for tests that read its sources, patch its modules, or replace its packages. */
export const CHECKOUT = join(import.meta.dirname, '../../../bin/teslim.js')
const PROGRAM = inject('program')

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
  /** What is started, if not what all tests start: an executable, or `bin/teslim.js` of a package or a checkout. */
  readonly program?: string | undefined
  /** The account it runs as, if not ours. */
  readonly identity?: { readonly uid?: number; readonly gid?: number }
}

/** The environment of a fresh machine: nothing of the one that runs the tests. */
const cleanEnvironment = (env: Record<string, string> = {}) => ({ PATH: process.env.PATH ?? '', ...env })

const isScript = (program: string): boolean => program.endsWith('.js')
const wordsOf = (program: string, node: readonly string[] = []): string[] =>
  isScript(program) ? [process.execPath, ...node, program] : [program]
/** An executable takes options of Node from its environment only, and no module to load before its own. */
function variablesOf(program: string, node: readonly string[] = []): Record<string, string> {
  if (isScript(program) || node.length === 0) return {}
  if (node.includes('--import')) throw new Error('an executable ignores --import: start SCRIPT')
  return { NODE_OPTIONS: node.map((option) => JSON.stringify(option)).join(' ') }
}

/** What is under test, if Node runs it, else the checkout: for options that an executable ignores. */
export const SCRIPT = isScript(PROGRAM) ? PROGRAM : CHECKOUT

/** What commands begin with that the program prints for people. */
export const COMMAND = isScript(PROGRAM) ? (PROGRAM === CHECKOUT ? 'npx teslim' : 'teslim') : PROGRAM
/** The same in a regular expression. */
export const COMMAND_PATTERN = RegExp.escape(COMMAND)

/** Returns what a shell runs as `teslim ARGS`. */
export const shellCommand = (...args: string[]): string =>
  [...wordsOf(PROGRAM), ...args].map((word) => `'${word}'`).join(' ')

/** Starts `teslim ARGS`; whoever does ends it. */
export function startProcess(args: readonly string[], options: RunOptions) {
  const { cwd, env, node, program = PROGRAM, through = [], identity } = options
  const [command = '', ...rest] = [...through, ...wordsOf(program, node), ...args]
  return spawn(command, rest, { cwd, env: { ...cleanEnvironment(env), ...variablesOf(program, node) }, ...identity })
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

/** Starts `teslim serve` on any free port; killed at the end of the test, or of the file where no test is under way. */
export async function serve(options: RunOptions, end = atTheEnd): Promise<ServerProcess> {
  const child = startProcess(['serve'], { ...options, env: { PORT: '0', TESLIM_OPS_PORT: '0', ...options.env } })
  end(() => void child.kill('SIGKILL'))
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

/** Serves an empty store, and gives the credentials that are printed once. */
export async function serveSandbox(options: RunOptions): Promise<SandboxServer> {
  const server = await serve(options)
  const credentials = /e-mail +(\S+)\s+password +(\S+)\s+ApiKey +(\S+)\s/
  const [, email = '', password = '', apiKey = ''] = await server.printed(credentials)
  return { server, email, password, apiKey }
}
