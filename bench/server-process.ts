import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, globSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'

export interface BenchServer {
  readonly name: string
  readonly url: string
  /** Resident memory now, in megabytes: all of it, or without the pages of files. */
  memory(kind?: 'VmRSS' | 'RssAnon'): number
  /** Processor time so far, of all threads. */
  cpuMilliseconds(): number
  /** Begins to count. What it returns tells what the threads used since, more exactly than `cpuMilliseconds`, but for those that ended. */
  meter(): () => Use
  stop(): Promise<void>
}

export interface Use {
  /** Processor time. */
  readonly milliseconds: number
  /** How often a thread was woken: each had gone to sleep by itself. */
  readonly wakeUps: number
}

/** The unit of /proc/PID/stat. */
const CLOCK_TICK_MILLISECONDS = 10

/** Starts a server with its output in a file, as a service manager would, and waits until it listens. */
export async function startServer(
  name: string,
  args: readonly string[],
  folder: string,
  env: Record<string, string> = {},
  program = process.execPath,
): Promise<BenchServer> {
  const logPath = join(folder, `${name}.log`)
  const log = openSync(logPath, 'w')
  const { PATH = '' } = process.env
  const profile = process.env.BENCH_PROFILE === name ? ['--cpu-prof', `--cpu-prof-dir=${process.cwd()}`] : []
  const child = spawn(program, [...profile, ...args], {
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
    memory: (kind = 'VmRSS') => memoryIn(readFileSync(`/proc/${child.pid}/status`, 'utf8'), kind),
    cpuMilliseconds: () => ticks(statOf(`${child.pid}`).slice(11, 15)),
    meter() {
      const before = usesOf(`${child.pid}`)
      return () => {
        const uses = [...usesOf(`${child.pid}`)]
        const sum = (of: keyof Use): number =>
          uses.reduce((total, [thread, use]) => total + use[of] - (before.get(thread)?.[of] ?? 0), 0)
        return { milliseconds: sum('milliseconds'), wakeUps: sum('wakeUps') }
      }
    },
    async stop() {
      child.kill(name.startsWith('teslim') ? 'SIGTERM' : profile.length > 0 ? 'SIGINT' : 'SIGKILL')
      await ended
    },
  }
}

/** Reads megabytes from /proc/PID/status. */
export const memoryIn = (status: string, kind: string): number =>
  Math.round(Number(new RegExp(`^${kind}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024)

/** Fields of /proc/PID/stat from its state, the third one, on. */
const statOf = (id: string): string[] => {
  const stat = readFileSync(`/proc/${id}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

const ticks = (fields: readonly string[]): number =>
  fields.reduce((sum, field) => sum + Number(field), 0) * CLOCK_TICK_MILLISECONDS

/** Milliseconds of processor time so far of a PostgreSQL server, whose data are in this folder, with all its processes, and those that have ended. */
export function databaseMilliseconds(data: string): number {
  const [first = ''] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n', 1)
  const children = readFileSync(`/proc/${first}/task/${first}/children`, 'utf8').split(' ').filter(Boolean)
  const used = [first, ...children].map((id) => usesOf(id).get(id)?.milliseconds ?? 0)
  return used.reduce((sum, milliseconds) => sum + milliseconds, ticks(statOf(first).slice(13, 15)))
}

/** What each thread of a process has used so far. */
function usesOf(id: string): Map<string, Use> {
  const uses = new Map<string, Use>()
  const folder = `/proc/${id}/task`
  for (const thread of globSync('*', { cwd: folder })) {
    try {
      const nanoseconds = readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')[0]
      const status = readFileSync(`${folder}/${thread}/status`, 'utf8')
      const wakeUps = Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1])
      uses.set(thread, { milliseconds: Number(nanoseconds) / 1e6, wakeUps })
    } catch {
      // It has just ended.
    }
  }
  return uses
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
