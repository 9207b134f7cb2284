import { fstatSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import type { ProcessContext } from '#src/cli/command.ts'
import { cliActor } from '#src/cli/input/actor.ts'
import { runCli } from '#src/cli/run-cli.ts'
import { readEnvFile } from '#src/config/env-file.ts'
import { loadConfig } from '#src/config/load-config.ts'
import { systemClock } from '#src/lib/clock.ts'
import { systemRandom } from '#src/lib/random.ts'
import { npmHasEnded } from './serving/npm.ts'

const hasStarterEnded = npmHasEnded(process.env)
let isTraced = false

const context: ProcessContext = {
  stdin: process.stdin,
  clock: systemClock,
  wait: (milliseconds) => wait(milliseconds),
  random: systemRandom,
  columns: process.stdout.columns,
  actor: () => cliActor(process.env.SUDO_USER),
  out: (text) => void process.stdout.write(`${text}\n`),
  outBytes: (bytes) => void process.stdout.write(bytes),
  err: (text) => void process.stderr.write(`${text}\n`),
  sharesOutput() {
    const [out, err] = [process.stdout.fd, process.stderr.fd].map((fd) => fstatSync(fd))
    return out?.dev === err?.dev && out?.ino === err?.ino
  },
  progress: (text) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
  },
  yieldToServers() {
    try {
      setPriority(constants.priority.PRIORITY_LOW)
    } catch {
      // A sandbox may forbid it.
    }
  },
  stopSignal() {
    const stop = new AbortController()
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort())
    return stop.signal
  },
  loadConfig: () => loadConfig(process.env, readEnvFile('.env')),
  async startServer(loaded, awaited) {
    // The packages of OpenTelemetry read their variables from the environment only.
    const file = readEnvFile('.env')
    for (const name of Object.keys(file)) if (name.startsWith('OTEL_')) process.env[name] ||= file[name]
    // Both are loaded here because the other commands start faster without them.
    const { noteOnTraces, wantsTraces } = await import('#src/config/trace-settings.ts')
    const { startServer } = await import('#src/server.ts')
    isTraced = wantsTraces(process.env)
    const notes = [...loaded.notes, ...noteOnTraces(process.env)]
    return startServer({ ...loaded, notes }, awaited, process.exit, isTraced ? process.env : undefined, hasStarterEnded)
  },
}

// The lost output may have been a password that is shown once, so the exit status must not be 0.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') context.err(`teslim: stdout cannot be written (${code})`)
  process.exit(1)
})

process.exitCode = await runCli(process.argv.slice(2), context)
// Traces that a collector does not take would keep the process alive while they are sent again.
if (isTraced) process.exit()
