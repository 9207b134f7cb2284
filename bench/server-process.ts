import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
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
