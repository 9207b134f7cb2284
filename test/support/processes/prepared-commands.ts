import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Outcome, RunOptions } from './process.ts'

export interface CommandRequest {
  readonly args: readonly string[]
  readonly options: Pick<RunOptions, 'cwd' | 'env' | 'stdin'>
}

export interface CommandAnswer {
  readonly outcome?: Outcome
  readonly error?: string
}

const RUNNER = fileURLToPath(new URL('./command-runner.ts', import.meta.url))

let runner: ReturnType<typeof startRunner> | undefined
let before: Promise<unknown> = Promise.resolve()

/** Runs `teslim ARGS` in a process that stays for the next commands: for what a test prepares, not for what it tests. */
export function runPrepared(args: readonly string[], options: CommandRequest['options']): Promise<Outcome> {
  const outcome = before.then(() => run({ args, options }))
  before = outcome.catch(() => undefined)
  return outcome
}

async function run(request: CommandRequest): Promise<Outcome> {
  runner ??= startRunner()
  const { child, ended } = runner
  const answered = once(child, 'message').then(([answer]) => answer as CommandAnswer)
  child.send(request)
  const { outcome, error } = await Promise.race([answered, ended])
  if (outcome === undefined) throw new Error(error)
  return outcome
}

function startRunner(): { child: ChildProcess; ended: Promise<CommandAnswer> } {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const env = { PATH, NODE_COMPILE_CACHE }
  const child = fork(RUNNER, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  // It ends with this process, which need not wait for it.
  child.unref()
  child.channel?.unref()
  const ended = once(child, 'exit').then(([status]) => {
    runner = undefined
    return { error: `the process of commands ended with ${status}` }
  })
  return { child, ended }
}
