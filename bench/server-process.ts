import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
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
    cpuMilliseconds: () => cpuOf(`${child.pid}`) ?? Number.NaN,
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

interface ProcessFacts {
  readonly parent: string
}

/**
 * Milliseconds of processor time so far of a process with its threads, and of its children that have ended. Undefined if it is gone, or not
 * one that is wanted.
 */
export function cpuOf(id: string, isWanted: (facts: ProcessFacts) => boolean = () => true): number | undefined {
  let stat: string
  try {
    stat = readFileSync(`/proc/${id}/stat`, 'utf8')
  } catch {
    return undefined
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (!isWanted({ parent: fields[1] ?? '' })) return undefined
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * CLOCK_TICK_MILLISECONDS
}

/** What each thread of a process has used so far. */
function usesOf(id: string): Map<string, Use> {
  const uses = new Map<string, Use>()
  for (const thread of readdirSync(`/proc/${id}/task`)) {
    try {
      const nanoseconds = readFileSync(`/proc/${id}/task/${thread}/schedstat`, 'utf8').split(' ')[0]
      const status = readFileSync(`/proc/${id}/task/${thread}/status`, 'utf8')
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
