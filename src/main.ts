import type { CliContext } from '#src/cli/command.ts'
import { cliActor } from '#src/cli/input/actor.ts'
import { runCli } from '#src/cli/run-cli.ts'
import { readEnvFile } from '#src/config/env-file.ts'
import { loadConfig } from '#src/config/load-config.ts'
import { systemClock } from '#src/lib/clock.ts'
import { systemRandom } from '#src/lib/random.ts'

const context: CliContext = {
  stdin: process.stdin,
  clock: systemClock,
  random: systemRandom,
  columns: process.stdout.columns,
  actor: () => cliActor(process.env.SUDO_USER),
  out: (text) => void process.stdout.write(`${text}\n`),
  outBytes: (bytes) => void process.stdout.write(bytes),
  err: (text) => void process.stderr.write(`${text}\n`),
  progress: (text) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
  },
  stopSignal() {
    const stop = new AbortController()
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort())
    return stop.signal
  },
  loadConfig: () => loadConfig(process.env, readEnvFile('.env')),
  async startServer(config, store) {
    // Loaded here because the other commands start faster without it.
    const { startServer } = await import('#src/server.ts')
    return startServer(config, store, process.exit)
  },
}

// The lost output may have been a password that is shown once, so the exit status must not be 0.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') context.err(`teslim: stdout cannot be written (${code})`)
  process.exit(1)
})

process.exitCode = await runCli(process.argv.slice(2), context)
