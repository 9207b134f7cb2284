import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type RunOptions, SCRIPT, serve } from '../processes/process.ts'

/** Whether a fault can be provoked on this machine. Prints why, if not. */
function possible(what: string, provoke: () => void): boolean {
  try {
    provoke()
    return true
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: Buffer }
    const why = stderr?.toString().trim() || message
    console.log(`skipped: ${what}: ${why.split('\n')[0]}`)
    return false
  }
}

const run = (command: string, ...args: string[]): void =>
  void execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: 10_000 })

export const canMount = (): boolean =>
  possible('no file system of a test can be mounted', () => {
    const path = mountTmpfs('64k')
    unmount(path)
  })

/** A small disk of its own, gone when the test is over. */
export interface SmallDisk {
  readonly path: string
  free(): number
  /** Takes all room on it but for so many bytes. */
  fill(leave?: number): void
  /** Gives back what `fill` took. */
  clear(): void
  /** Makes it larger or smaller, but not smaller than what is on it. */
  resize(bytes: number): void
  readOnly(): void
}

export function smallDisk(megabytes: number): SmallDisk {
  const path = mountTmpfs(`${megabytes}m`)
  onTestFinished(() => unmount(path))
  const filler = join(path, 'filler')
  const free = (): number => {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  }
  return {
    path,
    free,
    fill(leave = 0) {
      const block = Buffer.alloc(65536)
      const file = openSync(filler, 'a')
      try {
        for (let more = free() - leave; more > 0; more = free() - leave)
          writeSync(file, block, 0, Math.min(block.length, more))
      } catch (error) {
        // Somebody else took the rest.
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      } finally {
        closeSync(file)
      }
    },
    clear: () => rmSync(filler, { force: true }),
    resize: (bytes) => run('mount', '-o', `remount,size=${Math.ceil(bytes / 1024)}k`, path),
    readOnly: () => run('mount', '-o', 'remount,ro', path),
  }
}

function mountTmpfs(size: string): string {
  const path = mkdtempSync(join(tmpdir(), 'teslim-disk-'))
  try {
    run('mount', '-t', 'tmpfs', '-o', `size=${size},mode=0755`, 'teslim-test', path)
  } catch (error) {
    rmdirSync(path)
    throw error
  }
  return path
}

/** Works even while a process that is about to end has files open on it. */
function unmount(path: string): void {
  run('umount', '--lazy', path)
  rmdirSync(path)
}

export const canTrace = (): boolean =>
  possible('strace cannot make system calls fail', () => {
    run('strace', '-V')
    run('sh', '-c', 'sleep 0.2 & exec strace -f -e inject=fsync:error=EIO -o /dev/null -p $!')
  })

/** Runs what comes after it and kills it as it makes a call of this name for the nth time, in whichever thread. */
export const killedAt = (call: string, nth: number): string[] =>
  // Not with --seccomp-bpf, under which strace 6.1 does not inject signals into the first thread.
  [
    'strace',
    '-D',
    '-f',
    '-o',
    '/dev/null',
    '-e',
    'signal=none',
    '-e',
    `trace=${call}`,
    '-e',
    `inject=${call}:signal=KILL:when=${nth}`,
  ]

/**
 * Lets system calls of a running process fail or take long, such as `fsync:error=EIO`, until the function that this
 * resolves to is called. With `path` only those on that file.
 */
export async function inject(pid: number | undefined, faults: readonly string[], path?: string) {
  const calls = faults.map((fault) => fault.split(':', 1)[0])
  const only = path === undefined ? [] : ['-P', path]
  const options = [...only, '-e', `trace=${calls}`, ...faults.flatMap((fault) => ['-e', `inject=${fault}`])]
  const strace = spawn('strace', ['-f', '-o', '/dev/null', ...options, '-p', `${pid}`])
  onTestFinished(() => void strace.kill('SIGKILL'))
  const ended = once(strace, 'exit')
  // Read to the end: strace names each thread that starts later, and would end if nobody read it.
  await new Promise<void>((resolve, reject) => {
    strace.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('attached')) resolve()
      else reject(new Error(text))
    })
  })
  return async (): Promise<void> => {
    strace.kill('SIGTERM')
    await ended
  }
}

/** Options with which a process runs this code in each thread before its own. A signal from outside would end all threads. */
export const inEachThread = (code: string) => {
  const module = `data:text/javascript,${encodeURIComponent(`
    import { appendFileSync } from 'node:fs'
    import { DatabaseSync } from 'node:sqlite'
    import { isMainThread, parentPort } from 'node:worker_threads'
    ${code}`)}`
  return { node: ['--import', module], program: SCRIPT }
}

const PAGES_OF_SMALL_LOG = 400
/**
 * Bytes that the log takes before commits write it to the file, with `smallLog`: its pages of 4 KiB with the head of each. A thread
 * writes it to the file from a quarter of them on.
 */
export const BYTES_OF_SMALL_LOG = PAGES_OF_SMALL_LOG * (4096 + 24)

/** Options with which a log begins again after a fortieth of the deliveries. */
export const smallLog = inEachThread(`
  const { exec } = DatabaseSync.prototype
  DatabaseSync.prototype.exec = function (sql) {
    return exec.call(this, sql.replace(/^PRAGMA wal_autocheckpoint = 16000$/, 'PRAGMA wal_autocheckpoint = ${PAGES_OF_SMALL_LOG}'))
  }`)

/** Starts a server that should refuse to: it must end with status 1 and one line, which this resolves to. */
export async function refusedStart(options: RunOptions): Promise<string> {
  const outcome = await serve(options).then(
    ({ url }) => `it serves at ${url}`,
    (error: Error) => error.message,
  )
  const [, line] = /^ended with 1 before .* was printed:\n([^\n]+)\n$/.exec(outcome) ?? []
  if (line === undefined) throw new Error(`expected status 1 and one line: ${outcome}`)
  return line
}
