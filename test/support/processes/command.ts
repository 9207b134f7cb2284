import { Readable } from 'node:stream'
import { cliActor } from '#src/cli/input/actor.ts'
import { runCli } from '#src/cli/run-cli.ts'
import { readEnvFile } from '#src/config/env-file.ts'
import { loadConfig } from '#src/config/load-config.ts'
import { systemClock } from '#src/lib/clock.ts'
import { systemRandom } from '#src/lib/random.ts'
import { checkPrinted } from '../app/checked-fetch.ts'
import { inTimeZone } from '../app/time-zone.ts'
import { pace } from '../until.ts'
import type { Outcome, RunOptions } from './process.ts'

export type CommandOptions = Pick<RunOptions, 'cwd' | 'env' | 'stdin'> & {
  /** The width of a terminal; there is none unless given. */
  readonly columns?: number
  /** Stops a command that runs until it is told to. */
  readonly stop?: AbortSignal
  /** Hears each line on stderr. */
  readonly onError?: (line: string) => void
  /** The longest pause of a command. What it would wait for in another process is not there in most tests. */
  readonly longestPause?: number
}

/** The command before, because a process has one working folder. */
let before: Promise<unknown> = Promise.resolve()

/** As `runUnchecked`. What it prints with --json must be in docs/json.md, else the test file fails. */
export async function runCommand(args: readonly string[], options: CommandOptions): Promise<Outcome> {
  const outcome = await runUnchecked(args, options)
  await checkPrinted(args, outcome)
  return outcome
}

/**
 * Runs `teslim ARGS` inside the test's process, in a tenth of the time that a process takes (`teslim` in process.ts).
 * Commands that are called at once run one after the other. They are in UTC unless `env` has a TZ.
 */
export function runUnchecked(args: readonly string[], options: CommandOptions): Promise<Outcome> {
  const outcome = before.then(() => inTimeZone(options.env?.TZ ?? 'UTC', () => run(args, options)))
  before = outcome.catch(() => undefined)
  return outcome
}

async function run(args: readonly string[], options: CommandOptions): Promise<Outcome> {
  const {
    cwd,
    env = {},
    stdin = '',
    columns,
    stop = new AbortController().signal,
    onError,
    longestPause = 200,
  } = options
  const stdout: Uint8Array[] = []
  let stderr = ''
  const folder = process.cwd()
  process.chdir(cwd)
  try {
    const status = await runCli(args, {
      stdin: Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]),
      clock: systemClock,
      wait: (milliseconds) => pace(Math.min(milliseconds, longestPause)),
      random: systemRandom,
      columns,
      actor: () => cliActor(env.SUDO_USER),
      out: (text) => void stdout.push(Buffer.from(`${text}\n`)),
      outBytes: (bytes) => void stdout.push(bytes),
      err: (text) => {
        stderr += `${text}\n`
        onError?.(text)
      },
      sharesOutput: () => false,
      progress: () => undefined,
      // This process goes on with other tests.
      yieldToServers: () => undefined,
      stopSignal: () => stop,
      loadConfig: () => loadConfig(env, readEnvFile('.env')),
      startServer: () => Promise.reject(new Error('a server needs a process: see process.ts')),
    })
    return { status, stdout: new TextDecoder().decode(Buffer.concat(stdout)), stderr }
  } finally {
    process.chdir(folder)
  }
}
