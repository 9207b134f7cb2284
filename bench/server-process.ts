import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'

export interface BenchServer {
  readonly name: string
  readonly url: string
  /** Resident memory now, in megabytes. */
  memory(): number
  /** Processor time so far, of all threads. */
  cpuMilliseconds(): number
  stop(): Promise<void>
}

/** The unit of /proc/PID/stat. */
const CLOCK_TICK_MILLISECONDS = 10

/** Starts a server with its output in a file, as a service manager would, and waits until it listens. */
export async function startServer(
  name: string,
  args: readonly string[],
  folder: string,
  env: Record<string, string> = {},
): Promise<BenchServer> {
  const logPath = join(folder, `${name}.log`)
  const log = openSync(logPath, 'w')
  const { PATH = '' } = process.env
  const profile = process.env.BENCH_PROFILE === name ? ['--cpu-prof', `--cpu-prof-dir=${process.cwd()}`] : []
  const child = spawn(process.execPath, [...profile, ...args], {
    stdio: ['ignore', log, log],
    env: { PATH, PORT: '0', NODE_ENV: 'production', ...env },
  })
  closeSync(log)
  const ended = once(child, 'exit')
  const url = await listeningUrl(logPath).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw error
  })
  return {
    name,
    url,
    memory: () =>
      Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024),
    cpuMilliseconds() {
      const [user = 0, system = 0] =
        readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13).map(Number) ?? []
      return (user + system) * CLOCK_TICK_MILLISECONDS
    },
    async stop() {
      child.kill(name.startsWith('teslim') ? 'SIGTERM' : profile.length > 0 ? 'SIGINT' : 'SIGKILL')
      await ended
    },
  }
}

async function listeningUrl(logPath: string): Promise<string> {
  for (let tries = 0; tries < 500; tries++) {
    const url = /listening on (http:[^"]+)"/.exec(readFileSync(logPath, 'utf8'))?.[1]
    if (url !== undefined) return url
    await wait(20)
  }
  throw new Error(`not listening after 10 s:\n${readFileSync(logPath, 'utf8')}`)
}

/** What the server before left to be written back must not slow the next one down. */
export const syncDisk = async (): Promise<void> => void (await promisify(execFile)('sync'))
